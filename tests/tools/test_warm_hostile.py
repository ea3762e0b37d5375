#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""topk-jit-warm on caches that somebody means ill with, and with readers and disks that fail.

Usage: test_warm_hostile.py TOPK_JIT_WARM FAKE_LIBNVRTC
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import warm_command
from store_case import HOUR, StoreTest, key_of

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

NOBODY = 65534
EVERY_WAY = (["list"], ["verify"], ["verify", "--repair"], ["prune", "--all"])
ZEROS = "0" * 30


class Names(StoreTest):
    def plant(self, name):
        """A path below the cache, whose directories are there."""
        path = self.cache / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def test_links_fifos_and_directories_in_place_of_entries(self):
        self.build()
        outside = self.folder / "outside"
        outside.write_text("not the cache's")
        link, fifo, folder = (self.plant(f"v1/{i:02x}/{ZEROS}.cu13.tkc") for i in range(3))
        link.symlink_to(outside)
        os.mkfifo(fifo)
        folder.mkdir()
        self.assertEqual(len(self.object("list")["entries"]), 4)
        found = self.object("verify", status=1)
        self.assertEqual({f["path"]: f["kind"] for f in found["findings"]},
                         {str(path): "corrupt" for path in (link, fifo, folder)})
        self.says("prune", "--all")
        self.assertTrue(link.is_symlink() and fifo.exists())
        self.object("verify", "--repair", status=1)  # the directory stays
        self.assertFalse(link.is_symlink() or fifo.exists())
        self.assertTrue(folder.is_dir() and outside.read_text() == "not the cache's")

    def test_links_in_place_of_directories_lead_nowhere(self):
        self.build()
        outside = self.folder / "outside"
        shutil.move(self.cache / "v1", outside)
        (self.cache / "v1").mkdir(mode=0o700)
        before = self.entries(outside)
        for path in sorted(outside.iterdir()):
            (self.cache / "v1" / path.name).symlink_to(path)
        shutil.rmtree(self.cache / "tmp")
        (outside / "new-0123456789abcdef").write_text("stale")
        self.age(outside / "new-0123456789abcdef", 5 * HOUR)
        (self.cache / "tmp").symlink_to(outside)
        for command in (["list"], ["prune", "--all"]):
            done = self.run_it(*command, "--json", "--cache-dir", self.cache)
            self.assertEqual((done.returncode, json.loads(done.stdout)["entries"]), (1, []))
            self.assertEqual(done.stderr.count(": Not a directory\n"), 4)
        found = self.object("verify", "--repair", status=1)
        self.assertEqual({f["kind"] for f in found["findings"]}, {"unreadable"})
        self.assertEqual({n: d for n, d in self.entries(outside).items() if "new" not in n}, before)
        self.assertTrue((outside / "new-0123456789abcdef").exists())

    def test_names_cannot_steer_a_terminal(self):
        self.build()
        for name in ("\x1b[2J", "a\nb", "\xff", "v1/00/\x07", "tmp/\r", "v1/\x1b]0;x\x07"):
            self.plant(name).write_text("x")
        for command in (["list"], ["verify"], ["verify", "--repair"]):
            text = self.says(*command)
            self.assertTrue(all(c == "\n" or " " <= c <= "~" for c in text), ascii(text))
        self.assertEqual(self.says("verify").count("foreign   "), 6)
        self.assertEqual(len(self.object("verify")["findings"]), 6)

    def test_huge_file_is_refused_unread(self):
        path = self.build()[0]
        os.truncate(path, 1 << 40)
        found = self.object("verify", status=1)
        self.assertEqual([f["why"] for f in found["findings"]], ["it is larger than any entry"])
        self.assertEqual(self.object("list")["summary"]["flawed"], 1)
        self.fails("inspect", key_of(path), naming=["larger than any entry"])
        self.assertEqual(self.object("prune", "-n", "--all")["summary"]["left"], 0)
        self.object("verify", "--repair")
        self.assertFalse(path.exists())

    def test_names_that_only_look_like_entries(self):
        self.build()
        sound = self.files()[0].read_bytes()
        for name in (f"v1/00/{ZEROS}.cu13.tkc.old", f"v1/00/{ZEROS}.cu013.tkc", "v1/00/x.cu13.tkc",
                     f"v1/00/{'A' * 30}.cu13.tkc", f"v1/{ZEROS}.cu13.tkc", f"v2/00/{ZEROS}.cu13.tkc"):
            self.plant(name).write_bytes(sound)
        self.assertEqual(len(self.object("list")["entries"]), 4)
        self.assertEqual(self.object("verify")["summary"]["foreign"], 6)
        self.says("prune", "--all")
        self.assertEqual(self.object("verify")["summary"]["foreign"], 6)

    def test_every_beginning_of_an_entry_is_corrupt(self):
        path = self.build("--arch sm_80 --topk 9001")[0]
        data = path.read_bytes()
        for size in sorted({0, 1, 7, 8, 9, 191, 192, 193, len(data) - 17, len(data) - 1}):
            path.write_bytes(data[:size])
            self.assertEqual(self.object("verify", status=1)["summary"]["corrupt"], 1, size)
            self.assertEqual(self.object("list")["summary"]["flawed"], 1, size)


class Trust(StoreTest):
    def assert_is_not_used(self, why, cache=None):
        """Nothing of it is listed, removed or shown, and verify says why."""
        before = self.entries()
        found = self.object("list")
        self.assertEqual((found["entries"], found["places"][-1]["usable"]), ([], False))
        self.assertIn(f"not used: {why}", self.says("list"))
        for arguments in ([], ["--repair"]):
            found = self.object("verify", *arguments, status=1)
            self.assertEqual([(f["kind"], f["why"]) for f in found["findings"]],
                             [("unusable", why)])
        self.fails("prune", "--all", naming=[why])
        self.fails("inspect", "0" * 8, status=4)
        self.assertEqual(self.entries(), before)

    def test_directory_that_others_can_write(self):
        self.build()
        for mode in (0o777, 0o702, 0o720):
            self.cache.chmod(mode)
            self.assert_is_not_used("is writable by its group or by everybody")

    def test_directory_that_is_a_link(self):
        self.build()
        self.cache.rename(self.folder / "real")
        self.cache.symlink_to(self.folder / "real")
        self.assert_is_not_used("is a symbolic link")

    def test_file_in_place_of_the_directory(self):
        self.cache.write_text("x")
        self.assertIn("not used: is not a directory", self.says("list"))
        self.fails("prune", "--all", naming=["is not a directory"])
        self.object("verify", status=1)

    @unittest.skipUnless(os.getuid() == 0, "only root has files of others")
    def test_directory_of_another_user(self):
        self.build()
        os.chown(self.cache, NOBODY, NOBODY)
        self.assert_is_not_used("belongs to another user")

    def test_entry_that_others_can_write_is_corrupt(self):
        path = self.build()[0]
        path.chmod(0o666)
        self.assertEqual(self.object("list")["summary"]["flawed"], 1)
        found = self.object("verify", "--repair")
        self.assertIn("others can write it", found["findings"][0]["why"])
        self.assertFalse(path.exists())

    def test_read_only_places_that_cannot_be_used(self):
        self.cache.mkdir(mode=0o700)
        pack = self.add_pack()
        pack.chmod(0o666)
        (self.folder / "fifo.tkp").unlink(missing_ok=True)
        os.mkfifo(self.folder / "fifo.tkp")
        (self.folder / "empty.tkp").write_text("")
        (self.folder / "link.tkp").symlink_to(pack)
        (self.folder / "open").mkdir()
        (self.folder / "open").chmod(0o777)
        names = ("image", "fifo.tkp", "empty.tkp", "link.tkp", "open", "missing")
        places = self.read_only(*names)
        found = self.object("list", environment=places)
        self.assertEqual([p["usable"] for p in found["places"]],
                         [False, True, False, False, False, False, False, True])
        found = self.object("verify", status=1, environment=places)
        self.assertEqual([f["kind"] for f in found["findings"]],
                         ["unusable", "unusable", "corrupt", "unusable", "unusable", "unusable"])

    @unittest.skipUnless(os.getuid() == 0, "root reads what it likes, others cannot become another")
    def test_directory_and_entry_that_cannot_be_read(self):
        files = self.build()
        for path in [self.folder, warm_command.BINARY.parent]:
            if not path.stat().st_mode & 0o001:
                path.chmod(0o755)
        for path in [self.cache, *self.cache.rglob("*")]:
            os.chown(path, NOBODY, NOBODY)
        files[0].chmod(0)
        files[1].parent.chmod(0)
        done = self.run_it("verify", "--json", "--cache-dir", self.cache, user=NOBODY)
        if done.returncode == 126 or done.stdout == "":
            self.skipTest(f"another user cannot run the program: {done.stderr}")
        found = json.loads(done.stdout)
        self.assertEqual(done.returncode, 1)
        self.assertEqual({(f["kind"], f["path"]) for f in found["findings"]},
                         {("unreadable", str(files[0])), ("unreadable", str(files[1].parent))})
        done = self.run_it("list", "--json", "--cache-dir", self.cache, user=NOBODY)
        self.assertEqual([e["flaw"] is None for e in json.loads(done.stdout)["entries"]].count(True), 2)
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"topk-jit-warm: {files[1].parent}: Permission denied\n"))
        files[2].parent.chmod(0o500)
        done = self.run_it("prune", "--all", "--json", "--cache-dir", self.cache, user=NOBODY)
        found = json.loads(done.stdout)
        self.follows("prune", found)
        self.assertEqual((done.returncode, found["summary"]["failed"]), (1, 1))
        self.assertEqual([e["error"] for e in found["entries"] if e["status"] == "failed"],
                         ["Permission denied"])


class Output(StoreTest):
    def setUp(self):
        super().setUp()
        self.build()
        self.damage(self.files()[0])

    def ways(self):
        key = key_of(self.files()[1])
        for command in [*EVERY_WAY, ["inspect", key], ["dump", key, "--cubin"],
                        ["dump", key, "--source"]]:
            if command[0] != "prune" and "--repair" not in command:
                for json_or_not in ([], ["--json"]):
                    yield [*command, "--cache-dir", self.cache, *json_or_not]
        yield ["prune", "--dry-run", "--all", "--cache-dir", self.cache]

    def test_reader_that_went_away_is_told_nothing(self):
        for arguments in self.ways():
            reader, writer = os.pipe()
            os.close(reader)
            done = self.run_it(*arguments, stdout=writer)
            os.close(writer)
            self.assertEqual((done.returncode, done.stderr), (1, ""), arguments)

    def test_full_disk_and_closed_stdout_are_failures(self):
        for arguments in self.ways():
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = self.run_it(*arguments, stdout=full)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertRegex(done.stderr, r"\Atopk-jit-warm: [^\n]*stdout\n\Z")
            done = self.run_it(*arguments, preexec_fn=lambda: os.close(1))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, r"\Atopk-jit-warm: [^\n]*stdout\n\Z")

    def test_few_open_files_are_enough(self):
        for number in range(30):
            self.add_pack(name=f"{number}.tkp")
        done = subprocess.run(
            ["bash", "-c", 'ulimit -n 12; exec "$0" list --json --cache-dir "$1"',
             str(warm_command.BINARY), str(self.cache)],
            env={**warm_command.clean_environment(), **self.read_only("image")},
            capture_output=True, text=True, timeout=60,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(done.stdout)["summary"], {**json.loads(done.stdout)["summary"],
                         "entries": 94, "flawed": 1})


if __name__ == "__main__":
    tally.main()
