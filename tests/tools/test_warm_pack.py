#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""topk-jit-warm pack: one file of the cache, the same for the same entries, whole or not at all.

Usage: test_warm_pack.py TOPK_JIT_WARM FAKE_LIBNVRTC
"""
import json
import os
import pathlib
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest

import pack_case
import warm_command
from pack_case import SPEC

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

MANY = ",".join(map(str, range(9001, 9257)))


class Contents(pack_case.PackTest):
    def test_every_entry_of_the_cache_is_in_it(self):
        self.build()
        said = self.pack()
        self.assertEqual(len(said["entries"]), 6)
        self.assertEqual({e["target"] for e in said["entries"]}, {"sm_80", "sm_90"})
        self.assertEqual(said["bytes"], self.out.stat().st_size)
        self.assertEqual(said["digest"], self.out.read_bytes()[-16:].hex())
        self.assertEqual(said["pack"], str(self.out))
        inspected = self.must("inspect", self.out)
        for path, entry in zip(self.entry_files(), said["entries"]):
            self.assertIn(path.read_bytes(), self.out.read_bytes())
            self.assertEqual(entry["key"], path.parent.name + path.name.split(".")[0])
            self.assertIn(entry["key"], inspected)

    def test_people_are_told_what_was_packed_and_what_left_out(self):
        self.build()
        out = self.must("pack", self.out, "--cache-dir", self.cache)
        self.assertRegex(out, r"\Apacked 6 entries, \d+ bytes, digest [0-9a-f]{32}: .*\.tkp\n\Z")
        out = self.must("pack", "-f", self.out, "--arch", "sm_90", "--cache-dir", self.cache)
        self.assertIn("\nleft out: 0 of other templates, 3 not asked for, 0 damaged\n", out)

    def test_only_the_targets_and_the_specs_that_are_named(self):
        self.build(arch="sm_80,sm_90,compute_90")
        said = self.pack("--arch", "sm_90a,compute_90,sm_90")
        self.assertEqual(len(said["entries"]), 6)
        self.assertEqual({e["target"] for e in said["entries"]}, {"sm_90", "compute_90"})
        said = self.pack("--force", "--spec", "topk=9001", "--spec", SPEC.format(9003),
                         "--spec", SPEC.format(9003), "--arch", "sm_80")
        self.assertEqual({e["spec"] for e in said["entries"]},
                         {SPEC.format(9001), SPEC.format(9003)})
        self.assertEqual(len(said["entries"]), 2)
        self.assertEqual(said["left_out"]["not_asked_for"], 7)

    def test_what_is_named_and_not_there_is_a_failure_of_its_own(self):
        self.build(topk="9001", arch="sm_80")
        self.build(topk="9002", arch="sm_90")
        for flags, words in (
            (["--arch", "sm_80,sm_100"], ["for sm_100"]),
            (["--spec", "topk=9009"], [SPEC.format(9009)]),
            (["--arch", "sm_80,sm_90", "--spec", "topk=9002"], [SPEC.format(9002), "for sm_80"]),
        ):
            self.fails("pack", self.out, *flags, status=4, naming=[self.cache, *words])
        self.assertFalse(self.out.exists())

    def test_a_spec_that_is_none_is_told_why(self):
        for spec, words in (
            ("layout=pagd", ["did you mean 'paged'?"]),
            ("index_dtype=int64", ["did you mean 'index'?"]),
            ("topk=0", ["topk"]),
            ("x" * 100_000, ["100000 bytes"]),
        ):
            self.fails("pack", self.out, "--spec", spec, status=2, naming=["--spec", *words])
        many = [word for k in range(1, 258) for word in ("--spec", f"topk={k}")]
        self.fails("pack", self.out, *many, status=2, naming=["wrong value 'topk=257'"])

    def test_no_cache_and_an_empty_one(self):
        self.fails("pack", self.out, status=4, naming=[self.cache, "does not exist"])
        self.assertFalse(self.cache.exists())
        self.cache.mkdir(mode=0o700)
        self.fails("pack", self.out, status=4, naming=[self.cache, "has no entry"])
        self.assertFalse(self.out.exists())

    def test_entries_of_other_templates_are_left_out_unless_they_are_asked_for(self):
        templates = self.folder / "templates"
        shutil.copytree(warm_command.TEMPLATES, templates)
        with (templates / "params.h").open("a") as params:
            params.write("/* another set */\n")
        self.build()
        mine = self.pack()
        self.build(topk="9004", options=["--template-dir", templates])
        again = self.pack("--force")
        self.assertEqual(again["left_out"]["other_templates"], 2)
        self.assertEqual(again["digest"], mine["digest"])
        theirs = self.pack("--force", "--template-dir", templates)
        self.assertEqual({e["spec"] for e in theirs["entries"]}, {SPEC.format(9004)})
        self.assertEqual(len(self.pack("--force", "--all")["entries"]), 8)
        self.fails("pack", "-f", self.out, "--spec", "topk=9004", status=4, naming=["--all"])

    def test_same_entries_give_the_same_bytes(self):
        other = self.folder / "other"
        self.build(topk="9001,9002,9003", arch="sm_80,sm_90")
        for topk, arch in (("9003", "sm_90"), ("9002,9001", "sm_90"), ("9002,9003,9001", "sm_80")):
            self.build(topk=topk, arch=arch, cache=other, options=["-j", "1"])
        for path in self.entry_files(other):
            os.utime(path, (0, 0))
        second = self.folder / "second.tkp"
        self.pack()
        self.pack(out=second, cache=other, preexec_fn=lambda: os.umask(0o077))
        self.assertEqual(self.out.read_bytes(), second.read_bytes())
        for path in (self.out, second):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o644)


class Complete(pack_case.PackTest):
    """A spec has several kernels, and a server needs each."""

    TOPK = SPEC.format(2048)

    def setUp(self):
        super().setUp()
        self.build(topk="2048", arch="sm_90,sm_100")
        entries = self.pack()["entries"]
        self.names = {e["key"]: e["entry_name"] for e in entries}
        self.of = {target: [self.path(e["key"]) for e in entries if e["target"] == target]
                   for target in ("sm_90", "sm_100")}
        self.assertGreater(len(self.of["sm_90"]), 4)
        self.out.unlink()

    def path(self, key):
        (path,) = self.cache.glob(f"v1/{key[:2]}/{key[2:]}.cu*.tkc")
        return path

    def name(self, path):
        return self.names[path.parent.name + path.name.split(".")[0]]

    def lacks(self, paths, *flags, target="sm_90"):
        """These are named, a line each, and no pack is written."""
        names = [f"{self.name(p)} of spec {self.TOPK} for {target}" for p in paths]
        err = self.fails("pack", self.out, *flags, status=4, naming=[self.cache, *names])
        self.assertEqual(err.count("\n"), len(paths))
        self.assertFalse(self.out.exists())

    def test_each_kernel_that_is_missing_is_missed(self):
        for path in self.of["sm_90"]:
            whole = path.read_bytes()
            path.unlink()
            for flags in ([], ["--spec", "topk=2048"], ["--arch", "sm_90"], ["--all"],
                          ["--spec", "topk=2048", "--arch", "sm_100,sm_90"], ["--keep-going"]):
                self.lacks([path], *flags)
            path.write_bytes(whole)
            path.chmod(0o600)
        self.pack()

    def test_all_that_are_missing_are_named(self):
        missing = self.of["sm_90"][1:]
        for path in missing:
            path.unlink()
        self.lacks(missing)

    def test_what_is_not_asked_for_may_lack_some(self):
        self.of["sm_90"][0].unlink()
        said = self.pack("--arch", "sm_100")
        self.assertEqual(len(said["entries"]), len(self.of["sm_100"]))
        self.build(topk="9001", arch="sm_90")
        self.assertEqual(len(self.pack("-f", "--spec", "topk=9001")["entries"]), 1)

    def test_what_is_built_anew_is_packed(self):
        for path in self.of["sm_90"][::2]:
            path.unlink()
        self.build(topk="2048", arch="sm_90,sm_100")
        self.assertEqual(len(self.pack()["entries"]), len(self.names))

    def test_keep_going_excuses_the_damaged_and_no_other(self):
        damaged, missing = self.of["sm_90"][:2]
        damaged.write_bytes(damaged.read_bytes()[:-1])
        code, _, err = self.run_it("pack", self.out, "--keep-going", "--cache-dir", self.cache)
        self.assertEqual((code, err.count("\n")), (0, 1), err)
        self.assertEqual(len(self.must("inspect", self.out).splitlines()), 1 + len(self.names))
        self.out.unlink()
        missing.unlink()
        err = self.fails("pack", self.out, "--keep-going", status=4, naming=[self.name(missing)])
        self.assertNotIn(self.name(damaged), err)
        self.assertFalse(self.out.exists())

    def test_other_templates_may_need_what_they_like(self):
        templates = self.folder / "templates"
        shutil.copytree(warm_command.TEMPLATES, templates)
        with (templates / "params.h").open("a") as params:
            params.write("/* another set */\n")
        flags = ["--template-dir", templates]
        self.build(topk="2048", arch="sm_90", options=flags)
        others = set(self.entry_files()) - set(self.of["sm_90"]) - set(self.of["sm_100"])
        others.pop().unlink()
        self.pack("--all")
        self.fails("pack", "-f", self.out, *flags, status=4, naming=["lacks", "sm_90"])

    def test_every_kind_of_kernels(self):
        for options, topk in ((["--layout", "ragged,paged", "--page-size", "64"], "512"),
                              (["--operation", "fast_topk"], "1,64")):
            for arch in ("sm_80", "compute_90"):
                self.build(topk=topk, arch=arch, options=options)
        before = self.entry_files()
        self.assertEqual(len(self.pack()["entries"]), len(before))
        for path in before:
            whole = path.read_bytes()
            path.unlink()
            err = self.fails("pack", "-f", self.out, status=4, naming=["lacks"])
            self.assertEqual(err.count("\n"), 1)
            path.write_bytes(whole)
            path.chmod(0o600)


class Damage(pack_case.PackTest):
    def setUp(self):
        super().setUp()
        self.build(topk="9001,9002,9003,9004", arch="sm_80,sm_90")
        self.pack()
        self.whole = self.out.read_bytes()
        self.out.unlink()

    def spoil(self):
        """One entry each in every way; what is said of each."""
        files = self.entry_files()
        said = {}
        data = bytearray(files[0].read_bytes())
        data[len(data) // 2] ^= 1
        files[0].write_bytes(data)
        said[files[0]] = "checksum"
        files[1].write_bytes(files[1].read_bytes()[:-1])
        said[files[1]] = "cut short"
        shutil.copy(files[7], files[2])
        said[files[2]] = "another kernel than its name says"
        files[3].unlink()
        os.mkfifo(files[3])
        said[files[3]] = "not a regular file"
        files[4].unlink()
        files[4].symlink_to(files[7])
        said[files[4]] = "not a regular file"
        files[5].chmod(0o666)
        said[files[5]] = "others can write it"
        os.truncate(files[6], (64 << 20) + 1)
        said[files[6]] = "larger than any entry"
        return {str(path.relative_to(self.cache)): flaw for path, flaw in said.items()}

    def test_damaged_entries_are_named_and_nothing_is_packed(self):
        spoiled = self.spoil()
        err = self.fails("pack", self.out, naming=[*spoiled, *spoiled.values(), "--keep-going"])
        self.assertEqual(err.count("\n"), len(spoiled) + 1)
        self.assertFalse(self.out.exists())

    def test_on_request_the_others_are_packed(self):
        spoiled = self.spoil()
        code, out, err = self.run_it("pack", self.out, "--keep-going", "--json", "--cache-dir",
                                     self.cache)
        self.assertEqual(code, 0, err)
        self.assertEqual(err.count("\n"), len(spoiled))
        said = json.loads(out)
        self.follows("pack", said)
        damaged = {flaw["file"]: flaw["flaw"] for flaw in said["left_out"]["damaged"]}
        self.assertEqual(sorted(damaged), sorted(spoiled))
        for file, flaw in spoiled.items():
            self.assertIn(flaw, damaged[file])
        self.assertEqual(len(said["entries"]), 1)
        self.assertEqual(len(self.must("inspect", self.out).splitlines()), 3)

    def test_other_files_are_no_entries_and_no_damage(self):
        (self.cache / "v1" / "notes.txt").write_text("mine")
        (self.cache / "tmp" / "new-0123456789abcdef").write_text("half of")
        self.pack()
        self.assertEqual(self.out.read_bytes(), self.whole)

    def test_cache_that_is_not_to_be_trusted(self):
        self.cache.chmod(0o777)
        self.fails("pack", self.out, naming=[self.cache, "is writable"])
        self.cache.chmod(0o700)
        link = self.folder / "link"
        link.symlink_to(self.cache)
        self.fails("pack", self.out, cache=link, naming=[link, "symbolic link"])
        self.assertFalse(self.out.exists())


class Place(pack_case.PackTest):
    def setUp(self):
        super().setUp()
        self.build()

    def test_what_is_there_is_replaced_on_request_only(self):
        self.out.write_text("mine")
        self.fails("pack", self.out, naming=[self.out, "already there", "--force"])
        self.assertEqual(self.out.read_text(), "mine")
        self.out.chmod(0o600)
        self.pack("--force")
        self.must("inspect", self.out)
        self.assertEqual(stat.S_IMODE(self.out.stat().st_mode), 0o644)

    def test_what_is_no_regular_file_is_never_replaced(self):
        target = self.folder / "target"
        target.write_text("mine")
        for make in (os.mkfifo, os.mkdir, lambda path: os.symlink(target, path)):
            path = self.folder / f"odd{len(os.listdir(self.folder))}.tkp"
            make(path)
            before = path.lstat().st_mode
            for flags in ([], ["--force"]):
                self.fails("pack", path, *flags, naming=[path, "no regular file"])
            self.assertEqual(path.lstat().st_mode, before)
        self.assertEqual(target.read_text(), "mine")

    def test_name_by_which_no_server_would_find_it(self):
        for name in ("kernels", "-", "kernels.tkp.new", ".tkp", ""):
            code, out, err = self.run_it("pack", "--cache-dir", self.cache, "--", name)
            self.assertEqual((code, out), (2, ""), name)
            self.assertIn(".tkp", err)
        self.assertEqual([p.name for p in self.folder.iterdir()], ["cache"])

    def test_relative_name(self):
        self.pack(out="kernels.tkp")
        self.assertTrue(self.out.exists())

    def test_folder_that_is_missing_or_not_writable(self):
        self.fails("pack", "missing/kernels.tkp", naming=["missing/kernels.tkp: No such file"])
        for folder in (self.folder, *(p for p in self.cache.rglob("*") if p.is_dir()), self.cache):
            folder.chmod(0o755)
        for path in self.entry_files():
            path.chmod(0o644)
        closed = self.folder / "closed"
        closed.mkdir()
        closed.chmod(0o555)
        self.fails("pack", closed / "kernels.tkp", preexec_fn=pack_case.as_nobody,
                   naming=["closed/kernels.tkp: Permission denied"])

    def test_limit_of_a_files_size(self):
        limit = (4096, 4096)
        self.fails("pack", self.out, naming=[self.out, "File too large"],
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
        self.assertEqual((self.out.exists(), self.left_behind()), (False, []))

    def test_full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        script = """mount -t tmpfs -o size=4k,mode=0700 none disk || exit 77
"$0" pack disk/kernels.tkp --cache-dir cache; code=$?; ls -A disk; exit $code"""
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script, str(warm_command.BINARY)],
            cwd=self.folder, env=warm_command.clean_environment(), capture_output=True, text=True,
            timeout=pack_case.HANG_SECONDS,
        )
        if "unshare" in done.stderr or done.returncode == 77:
            self.skipTest("no mount namespaces here")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertIn("disk/kernels.tkp: No space left on device", done.stderr)

    def test_full_disk_behind_stdout(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(
                [warm_command.BINARY, "pack", self.out, "--cache-dir", self.cache],
                env=warm_command.clean_environment(), stdout=full, stderr=subprocess.PIPE,
                text=True, timeout=pack_case.HANG_SECONDS,
            )
        self.assertEqual(done.returncode, 1)
        self.assertIn("stdout", done.stderr)


class Many(pack_case.PackTest):
    """Entries enough that a pack of them takes a while."""

    def setUp(self):
        super().setUp()
        self.build(topk=MANY)

    def test_two_at_once_give_one_pack(self):
        processes = [self.start("pack", self.out, "--cache-dir", self.cache) for _ in range(2)]
        said = [p.communicate(timeout=pack_case.HANG_SECONDS) for p in processes]
        codes = sorted(p.returncode for p in processes)
        self.assertEqual(codes, [0, 1], said)
        self.assertEqual(len(self.must("inspect", self.out).splitlines()), 514)
        self.assertEqual(self.left_behind(), [])

    def kill_while_it_writes(self, *flags):
        """Kills a command as soon as it has begun its file. @return whether it was in time"""
        process = self.start("pack", self.out, *flags, "--cache-dir", self.cache)
        while process.poll() is None and not self.left_behind():
            time.sleep(0)
        process.kill()
        process.communicate(timeout=pack_case.HANG_SECONDS)
        in_time = bool(self.left_behind())
        for path in self.left_behind():
            path.unlink()
        return in_time

    def end_while_it_writes(self):
        """As kill_while_it_writes, with a signal that can be met. @return the exit status"""
        process = self.start("pack", self.out, "--cache-dir", self.cache)
        while process.poll() is None and not self.left_behind():
            time.sleep(0)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=pack_case.HANG_SECONDS)
        self.assertEqual((self.left_behind(), err), ([], ""))
        if out or self.out.exists():  # it was too late
            self.assertEqual(len(self.must("inspect", self.out).splitlines()), 513)
            self.out.unlink()
        return process.returncode

    def test_one_that_is_told_to_end_leaves_nothing(self):
        codes = []
        while len(codes) < 100 and -signal.SIGTERM not in codes:
            codes.append(self.end_while_it_writes())
        self.assertIn(-signal.SIGTERM, codes)

    def test_killed_one_leaves_no_half_of_a_pack(self):
        in_time = 0
        for _ in range(100):
            in_time += self.kill_while_it_writes()
            if self.out.exists():  # it was too late
                self.assertEqual(len(self.must("inspect", self.out).splitlines()), 513)
                self.out.unlink()
            if in_time == 3:
                break
        self.assertGreater(in_time, 0)

    def test_killed_one_leaves_what_it_was_to_replace(self):
        self.build(topk="9001", arch="sm_100")
        self.pack("--arch", "sm_100")
        old = self.out.read_bytes()
        for _ in range(100):
            if self.kill_while_it_writes("--force"):
                break
            self.pack("--force", "--arch", "sm_100")
        else:
            self.fail("no command was killed in time")
        self.assertEqual(self.out.read_bytes(), old)


if __name__ == "__main__":
    tally.main()
