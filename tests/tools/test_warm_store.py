#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""topk-jit-warm list, inspect KEY, verify and prune: what is in the cache, and what goes.

Usage: test_warm_store.py TOPK_JIT_WARM FAKE_LIBNVRTC
"""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import unittest

import warm_command
from store_case import CORPUS, FAKE_NVRTC, HOUR, StoreTest, key_of

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

HOMELESS = 54321  # a user of whom the password database knows nothing


class List(StoreTest):
    def test_line_an_entry_and_one_for_the_place(self):
        files = self.build()
        first, titles, *lines = self.says("list").splitlines()
        self.assertRegex(first, r" \(user\): 4 entries, \d+\.\d KiB\Z")
        self.assertEqual(
            titles.split(),
            "KEY TARGET CUDA SIZE AGE REGS SHARED SPILLS VARIANT SPEC".split(),
        )
        self.assertEqual([line.split()[0] for line in lines], [key_of(f)[:12] for f in files])
        for line in lines:
            self.assertRegex(
                line,
                r"\A[0-9a-f]{12}  sm_[89]0   13    1\.2 KiB +\d+s +40  512\+8304 +24  general  "
                r"operation=select,layout=plain,topk=900[12],dtype=float32,index=int32\Z",
            )

    def test_json_has_every_field(self):
        files = self.build()
        found = self.object("list")
        self.assertEqual([e["key"] for e in found["entries"]], [key_of(f) for f in files])
        size = sum(f.stat().st_size for f in files)
        self.assertEqual(found["summary"], {"entries": 4, "flawed": 0, "bytes": size})
        entry = found["entries"][0]
        self.assertEqual(entry["path"], str(files[0]))
        self.assertEqual(entry["modified"], int(files[0].stat().st_mtime))
        inspected = self.object("inspect", files[0])
        self.assertEqual(found["version"], inspected["version"])
        for name in set(inspected) - {"format", "version"}:
            self.assertEqual(entry[name], inspected[name], name)
        self.assertEqual((entry["variant"], entry["major"], entry["layer"]), ("general", 13, "user"))

    def test_cache_that_is_empty(self):
        self.cache.mkdir(mode=0o700)
        self.assertRegex(self.says("list"), r" \(user\): 0 entries, 0 B\n\Z")
        self.assertEqual(self.object("list")["entries"], [])

    def test_variables_name_the_cache_as_they_do_for_servers(self):
        self.build()
        for environment in (
            {"TOPK_JIT_CACHE_DIR": str(self.cache)},
            {"TOPK_JIT_CACHE_DIR": str(self.cache), "TOPK_JIT_MODE": "off"},
        ):
            done = self.run_it("list", environment=environment)
            self.assertIn("4 entries", done.stdout)
        (self.folder / "xdg").mkdir()
        self.cache.rename(self.folder / "xdg" / "topk-jit")
        done = self.run_it("list", environment={"XDG_CACHE_HOME": str(self.folder / "xdg")})
        self.assertIn("4 entries", done.stdout)

    def test_places_come_in_the_order_of_their_search(self):
        self.build()
        self.build("--arch sm_80 --topk 9009", cache=self.folder / "image")
        self.add_pack()
        found = self.object("list", environment=self.read_only("image", "missing"))
        self.assertEqual(
            [(p["layer"], pathlib.Path(p["path"]).name, p["entries"]) for p in found["places"]],
            [("pack", "kernels.tkp", 3), ("read-only", "image", 1), ("read-only", "missing", 0),
             ("user", "cache", 4)],
        )
        self.assertEqual([e["layer"] for e in found["entries"]],
                         ["pack"] * 3 + ["read-only"] + ["user"] * 4)
        self.assertIn("\nall: 8 entries", self.says("list", environment=self.read_only("image")))

    def test_filters(self):
        self.build()
        self.add_pack()
        places = self.read_only("image")
        for arguments, count in (
            (["--arch", "sm_80"], 2),
            (["--arch", "sm_90"], 5),
            (["--arch", "sm_80,sm_90"], 7),
            (["--arch", "sm_100"], 0),
            (["--spec", "topk=9001"], 2),
            (["--spec", "topk=9001", "--arch", "sm_90"], 1),
            (["--spec", "\x1b"], 0),
            (["--layer", "user"], 4),
            (["--layer", "read-only"], 3),
            (["--layer", "all"], 7),
        ):
            found = self.object("list", *arguments, environment=places)
            self.assertEqual(len(found["entries"]), count, arguments)
            self.assertEqual(found["summary"]["entries"], count, arguments)

    def test_wrong_words_are_refused(self):
        self.fails("list", "--arch", "sm_9", status=2, naming=["--arch", "sm_9"])
        self.fails("list", "--layer", "usr", status=2, naming=["did you mean 'user'"])
        self.fails("list", "--spec", "", status=2, naming=["--spec"])

    def test_corrupt_entry_is_marked_and_no_failure(self):
        files = self.build()
        self.damage(files[1])
        line = self.says("list").splitlines()[3]
        self.assertIn(f"{key_of(files[1])[:12]}  CORRUPT  13 ", line)
        self.assertIn("its checksum does not match", line)
        found = self.object("list")
        self.assertEqual(found["summary"]["flawed"], 1)
        self.assertEqual(found["entries"][1]["flaw"], "its checksum does not match")
        self.assertIsNone(found["entries"][1]["spec"])
        self.assertEqual(len(self.object("list", "--arch", "sm_80,sm_90")["entries"]), 3)

    def test_entry_of_a_kernel_that_nobody_knows_has_no_variant(self):
        self.cache.mkdir(mode=0o700)
        self.add_pack(of="sound-odd-preimages")
        found = self.object("list", environment=self.read_only("image"))
        self.assertGreater(len(found["entries"]), 0)
        for entry in found["entries"]:
            self.assertEqual((entry["flaw"], entry["variant"]), (None, None))
        text = self.says("list", environment=self.read_only("image"))
        self.assertTrue(all(c == "\n" or " " <= c <= "~" for c in text), ascii(text))

    def test_nothing_is_touched(self):
        files = self.build()
        for path in files:
            self.age(path, 5 * HOUR)
        before = [path.stat().st_mtime_ns for path in files]
        self.says("list")
        self.says("verify")
        self.says("inspect", key_of(files[0]))
        self.assertEqual([path.stat().st_mtime_ns for path in self.files()], before)


class Key(StoreTest):
    def test_beginning_of_a_key_is_enough(self):
        path = self.build()[0]
        by_file = self.object("inspect", path)
        for key in (key_of(path), key_of(path)[:4], key_of(path)[:9].upper()):
            self.assertEqual(self.object("inspect", key), by_file)
            self.assertEqual(self.says("inspect", key), self.says("inspect", path))

    def test_key_that_nothing_has(self):
        self.build()
        self.fails("inspect", "0" * 32, status=4, naming=["0" * 32])
        self.fails("dump", "0" * 4, "--cubin", status=4, naming=["'0000'"])

    def test_too_few_digits_and_no_digits_are_no_key(self):
        for word in ("abc", "xyz0", "0" * 33, ""):
            self.fails("dump", word, "--cubin", status=2, naming=["4 to 32"])
        self.fails("inspect", "abc", status=4, naming=["'abc' is no file here and no KEY"])

    def test_ambiguous_beginning_names_the_candidates(self):
        pack = self.add_pack(of="sound-three")
        keys = [e["key"] for e in self.object("inspect", pack)["entries"]]
        twin = self.cache / "v1" / keys[0][:2] / f"{keys[0][2:4]}{'0' * 28}.cu13.tkc"
        twin.parent.mkdir(parents=True)
        self.cache.chmod(0o700)
        twin.write_bytes(b"x")
        done = self.run_it("inspect", "--cache-dir", self.cache, keys[0][:4],
                           environment=self.read_only("image"))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        first, *candidates = done.stderr.splitlines()
        self.assertIn(f"several keys begin with '{keys[0][:4]}'", first)
        self.assertEqual([c.split()[0] for c in candidates], [keys[0], key_of(twin)])
        self.assertIn("sm_90", candidates[0])

    def test_first_place_that_has_it_is_taken(self):
        path = self.build()[0]
        shutil.copytree(self.cache, self.folder / "image")
        self.damage(path)
        key = key_of(path)
        self.fails("inspect", key, naming=[path, "checksum"])
        done = self.says("inspect", key, environment=self.read_only("image"))
        self.assertIn(key, done)

    def test_file_of_that_name_comes_first(self):
        self.build()
        shutil.copy(CORPUS / "entry" / "sound-ptx", self.folder / "abcd")
        self.assertEqual(self.object("inspect", "abcd")["kind"], "ptx")


class Verify(StoreTest):
    def test_sound_cache(self):
        self.build()
        self.add_pack()
        places = self.read_only("image")
        self.assertEqual(self.says("verify", environment=places),
                         "7 entries and 1 pack checked\n")
        found = self.object("verify", environment=places)
        self.assertEqual((found["summary"]["entries"], found["findings"]), (7, []))

    def spoil(self):
        """One of each flaw: what is wrong, by the name of its file."""
        cut, swapped, damaged, sound = self.build()
        cut.write_bytes(cut.read_bytes()[:-1])
        swapped.write_bytes(sound.read_bytes())
        self.damage(damaged)
        stale = self.cache / "tmp" / "new-0123456789abcdef"
        stale.write_bytes(b"half")
        self.age(stale, 2 * HOUR)
        (self.cache / "tmp" / "new-1123456789abcdef").write_bytes(b"being written")
        (self.cache / "notes.txt").write_text("mine")
        return {
            str(cut): ("corrupt", "it is cut short"),
            str(swapped): ("corrupt", "it is of another kernel than its name says"),
            str(damaged): ("corrupt", "its checksum does not match"),
            str(stale): ("stale", "a process died while it wrote it"),
            str(self.cache / "notes.txt"): ("foreign", "it is nothing of the cache's"),
        }

    def test_each_flaw_is_named_with_why(self):
        expected = self.spoil()
        found = self.object("verify", status=1)
        self.assertEqual({f["path"]: (f["kind"], f["why"]) for f in found["findings"]}, expected)
        lines = self.says("verify", status=1).splitlines()
        self.assertEqual(lines[-1], "4 entries and 0 packs checked, 3 corrupt, 1 stale, 1 foreign, "
                         "1 temporary file of writers at work or killed within the hour")
        self.assertEqual(found["summary"]["temporary"], 1)
        for line in lines[:-1]:
            kind, path, why = re.fullmatch(r"(\w+) +(/.*?): (.*)", line).groups()
            self.assertEqual((kind, why), expected[path])

    def test_repair_removes_what_is_broken_and_no_more(self):
        expected = self.spoil()
        before = self.entries()
        found = self.object("verify", "--repair")
        for finding in found["findings"]:
            self.assertEqual(finding["repaired"], finding["kind"] != "foreign")
        gone = {path for path, (kind, _) in expected.items() if kind != "foreign"}
        left = {name: data for name, data in before.items() if str(self.cache / name) not in gone}
        self.assertEqual(self.entries(), left)
        self.assertEqual(self.says("verify"), f"foreign     {self.cache}/notes.txt: it is nothing "
                         "of the cache's\n1 entry and 0 packs checked, 1 foreign, 1 temporary file of "
                         "writers at work or killed within the hour\n")
        result = self.result("--arch sm_80,sm_90 --topk 9001,9002 --nvrtc", [FAKE_NVRTC])
        self.assertEqual(result["summary"]["compiled"], 3)

    def test_repair_leaves_what_is_only_read(self):
        self.spoil()
        self.cache.rename(self.folder / "image")
        pack = self.add_pack()
        self.damage(pack)
        before = self.entries(self.folder / "image")
        found = self.object("verify", "--repair", status=1, environment=self.read_only("image"))
        self.assertEqual(found["summary"]["repaired"], 0)
        self.assertEqual(self.entries(self.folder / "image"), before)

    def test_pack_that_is_damaged_is_named_with_the_entry(self):
        self.cache.mkdir(mode=0o700)
        sound = CORPUS / "pack" / "sound-three"
        keys = [e["key"] for e in self.object("inspect", sound)["entries"]]
        for damaged in (keys[:1], keys[1:], keys):
            pack = self.add_pack()
            data = bytearray(pack.read_bytes())
            for record in range(64, 64 + 32 * len(keys), 32):
                offset, = struct.unpack_from("<Q", data, record + 24)
                if data[record:record + 16].hex() in damaged:
                    data[offset + 100] ^= 1
            pack.write_bytes(data)
            for arguments, places in (((), self.read_only("image")), ((pack,), {})):
                found = self.object("verify", *arguments, status=1, environment=places)
                self.assertEqual(
                    [(f["kind"], f["path"], f["key"], f["why"]) for f in found["findings"]],
                    [("corrupt", str(pack), key, "its checksum does not match")
                     for key in damaged],
                )
                self.assertEqual((found["summary"]["packs"], found["summary"]["entries"]), (1, 3))
                lines = self.says("verify", *arguments, status=1, environment=places)
                for key in damaged:
                    self.assertIn(f"corrupt     {pack}: entry {key}: its checksum", lines)
                self.assertEqual(len(lines.splitlines()), len(damaged) + 1)

    def test_pack_whose_entries_do_not_explain_it_is_named_itself(self):
        self.cache.mkdir(mode=0o700)
        for of, entries in (("flaw-padding", 3), ("flaw-checksum", 3), ("flaw-cut-in-index", 0)):
            pack = self.add_pack(of=of)
            for arguments, places in (((), self.read_only("image")), ((pack,), {})):
                found = self.object("verify", *arguments, status=1, environment=places)
                self.assertEqual([(f["path"], f["key"]) for f in found["findings"]],
                                 [(str(pack), None)])
                self.assertEqual(found["summary"]["entries"], entries)

    def test_entry_of_a_pack_that_is_under_another_key(self):
        pack = self.add_pack(of="flaw-under-another-key")
        finding, = self.object("verify", pack, status=1)["findings"]
        self.assertRegex(finding["key"], r"\A[0-9a-f]{32}\Z")
        self.assertIn("another kernel", finding["why"])

    def test_name_of_another_cuda_is_a_flaw(self):
        path = self.build()[0]
        renamed = path.rename(path.parent / path.name.replace(".cu13.", ".cu12."))
        for arguments in ((), (renamed,)):
            finding, = self.object("verify", *arguments, status=1)["findings"]
            self.assertEqual((finding["kind"], finding["path"], finding["why"]),
                             ("corrupt", str(renamed), "another CUDA compiled it than its name says"))
        self.assertEqual(self.object("verify", "--repair")["summary"]["repaired"], 1)
        self.assertFalse(renamed.exists())

    def test_path_that_is_not_there_has_its_own_status(self):
        files = self.build()
        found = self.object("verify", "missing", files[0], status=4)
        self.assertEqual([(f["path"], f["why"]) for f in found["findings"]],
                         [("missing", "it does not exist")])
        self.damage(files[1])
        self.object("verify", "missing", files[1], status=1)

    def test_paths_take_the_place_of_the_cache(self):
        files = self.build()
        self.damage(files[0])
        for path, entries in ((files[1], 1), (CORPUS / "entry" / "sound-ptx", 1)):
            found = self.object("verify", path)
            self.assertEqual((found["summary"]["entries"], found["findings"]), (entries, []))
        found = self.object("verify", CORPUS / "pack" / "sound-three")
        self.assertEqual((found["summary"]["packs"], found["summary"]["entries"]), (1, 3))
        for path in (files[0], self.cache):
            found = self.object("verify", path, files[1], status=1)
            self.assertEqual([f["path"] for f in found["findings"]], [str(files[0])])
        shutil.copy(files[1], files[2])
        found = self.object("verify", files[2], status=1)
        self.assertIn("another kernel", found["findings"][0]["why"])

    def test_directory_with_a_colon_in_its_name(self):
        self.build(cache=self.folder / "a:b")
        self.assertEqual(self.object("verify", self.folder / "a:b")["summary"]["entries"], 4)

    def test_every_file_of_the_corpus_is_judged(self):
        for path in sorted(CORPUS.glob("*/*")):
            if path.parent.name in ("entry", "pack"):
                sound = path.name.startswith("sound-")
                found = self.object("verify", path, status=0 if sound else 1)
                self.assertEqual(len(found["findings"]), 0 if sound else 1, path)

    def test_repair_takes_no_path(self):
        self.fails("verify", "--repair", self.folder, status=2, naming=["--repair"])


class Prune(StoreTest):
    def aged(self):
        """Entries used 1, 2, 3 and 4 hours ago; the oldest last."""
        files = self.build()
        for hours, path in enumerate(files, 1):
            self.age(path, hours * HOUR + 60)
        return files

    def test_oldest_go_until_so_much_is_left(self):
        files = self.aged()
        most = files[0].stat().st_size + files[1].stat().st_size
        found = self.object("prune", "--max-bytes", str(most))
        self.assertEqual([e["key"] for e in found["entries"]], [key_of(files[3]), key_of(files[2])])
        self.assertEqual(self.files(), files[:2])
        self.assertEqual(found["summary"]["left_bytes"], most)
        self.assertEqual(self.object("prune", "--max-bytes", "2K")["summary"]["removed"], 1)
        self.assertEqual(self.object("prune", "--max-bytes", "1G")["summary"]["removed"], 0)

    def test_what_is_older_goes(self):
        files = self.aged()
        self.assertEqual(self.object("prune", "--older-than", "1d")["summary"]["removed"], 0)
        text = self.says("prune", "--older-than", "150m")
        self.assertEqual(text.splitlines()[0].split(), "KEY CUDA SIZE AGE STATUS".split())
        self.assertIn(f"{key_of(files[3])}  13    1.2 KiB   4h  removed\n", text)
        self.assertRegex(text, r": 2 removed \(\d.* KiB\), 2 left \(\d.* KiB\)\n\Z")
        self.assertEqual(self.files(), files[:2])

    def test_targets_and_all(self):
        self.build()
        self.assertEqual(self.object("prune", "--arch", "sm_90")["summary"]["removed"], 2)
        self.assertEqual({e["target"] for e in self.object("list")["entries"]}, {"sm_80"})
        self.assertEqual(self.object("prune", "--all")["summary"]["left"], 0)
        self.assertEqual(self.files(), [])

    def test_conditions_all_hold(self):
        files = self.aged()
        targets = {e["key"]: e["target"] for e in self.object("list")["entries"]}
        self.says("prune", "--arch", "sm_90", "--older-than", "150m")
        kept = [f for n, f in enumerate(files) if n < 2 or targets[key_of(f)] != "sm_90"]
        self.assertEqual(self.files(), kept)

    def test_dry_run_removes_nothing(self):
        files = self.aged()
        found = self.object("prune", "--all", "--dry-run")
        self.assertEqual((found["dry_run"], found["summary"]["removed"]), (True, 4))
        self.assertIn("4 would be removed", self.says("prune", "--all", "-n"))
        self.assertEqual(self.files(), files)

    def test_only_entries_of_the_cache_directory_go(self):
        self.build(cache=self.folder / "image")
        self.add_pack()
        self.build()
        (self.cache / "v1" / "notes.txt").write_text("mine")
        (self.cache / "tmp" / "new-0123456789abcdef").write_text("being written")
        others = {name for name in self.entries() if not name.endswith(".tkc")}
        image = self.entries(self.folder / "image")
        self.says("prune", "--all", environment=self.read_only("image"))
        self.assertEqual(set(self.entries()), others)
        self.assertEqual(self.entries(self.folder / "image"), image)

    @unittest.skipUnless(os.getuid() == 0, "only root becomes a user without a home")
    def test_no_cache_directory_is_said_in_the_same_words(self):
        pack = self.add_pack()
        self.folder.chmod(0o755)
        nowhere = {name: value for name, value in warm_command.clean_environment().items()
                   if name not in ("HOME", "XDG_CACHE_HOME")}
        said = set()
        for command in (["prune", "--all"], ["pack", "out.tkp"], ["unpack", str(pack)]):
            done = self.run_it(*command, env=nowhere, user=HOMELESS)
            self.assertEqual((done.returncode, done.stdout), (4, ""), command)
            said.add(done.stderr)
        (line,) = said
        self.assertIn("there is no cache directory", line)

    def test_what_is_to_go_must_be_said(self):
        self.build()
        self.fails("prune", status=2, naming=["--max-bytes"])
        self.fails("prune", "--all", "--arch", "sm_80", status=2, naming=["--all"])
        for word in ("", "K", "1X", "-1", "1.5G", "99999999999G", "1 G", "0x10"):
            self.fails("prune", f"--max-bytes={word}", status=2, naming=["--max-bytes"])
        for word in ("", "30", "d", "1y", "-1d", "99999999999999999w"):
            self.fails("prune", f"--older-than={word}", status=2, naming=["--older-than"])
        self.assertEqual(len(self.files()), 4)


class Missing(StoreTest):
    COMMANDS = (["list"], ["verify"], ["verify", "--repair"], ["prune", "--all"],
                ["prune", "--all", "--dry-run"])

    def test_default_directory_comes_with_its_first_entry(self):
        home = {"HOME": str(self.folder / "home")}
        for environment in (home, {"TOPK_JIT_CACHE_DIR": str(self.cache)}):
            for command in self.COMMANDS:
                for flags in ([], ["--json"]):
                    done = self.run_it(*command, *flags, environment=environment)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), command)
                    if flags:
                        self.follows(command[0], json.loads(done.stdout))
        self.assertIn("home/.cache/topk-jit (user): does not exist",
                      self.run_it("list", environment=home).stdout)
        self.assertEqual(self.run_it("verify", environment=home).stdout,
                         "0 entries and 0 packs checked\n")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_directory_that_is_named_must_be_there(self):
        for command in self.COMMANDS:
            for flags in ([], ["--json"]):
                done = self.run_it(*command, *flags, "--cache-dir", "typo")
                self.assertEqual(done.returncode, 4, command)
                self.assertIn(f"{self.folder}/typo: it does not exist\n",
                              done.stdout if command[0] == "verify" and not flags else
                              done.stderr or str(json.loads(done.stdout)["findings"][0]["path"])
                              + ": it does not exist\n")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_else_is_wrong_counts_more(self):
        self.damage(self.add_pack())
        self.assertEqual(self.run_it("verify", "--cache-dir", "typo",
                                     environment=self.read_only("image")).returncode, 1)

    def test_list_of_other_places_needs_no_cache_directory(self):
        done = self.run_it("list", "--layer", "read-only", "--cache-dir", "typo")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Relative(StoreTest):
    COMMANDS = ("list", "verify", "prune --all", "inspect 0000", "dump 0000 --cubin",
                "pack out.tkp", "explain topk=9001 --arch sm_90", "build --arch sm_90 --topk 9001")

    def test_relative_variable_is_refused_by_name_and_value(self):
        for command in self.COMMANDS:
            for value in ("cache", "./cache", "~/cache", "../cache"):
                done = self.run_it(*command.split(), environment={"TOPK_JIT_CACHE_DIR": value})
                self.assertEqual((done.returncode, done.stdout), (1, ""), command)
                self.assertEqual(done.stderr, f'topk-jit-warm: TOPK_JIT_CACHE_DIR is "{value}", '
                                 "expected an absolute path: servers ignore it\n")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_option_beats_it(self):
        self.build()
        done = self.run_it("list", "--cache-dir", "cache",
                           environment={"TOPK_JIT_CACHE_DIR": "elsewhere"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("4 entries", done.stdout)


class Unreadable(StoreTest):
    """Of a cache of four entries in four directories, one of which nobody looks into."""
    PLANTED = "it belongs to another user or others can write it"

    def in_turn(self):
        """Each way to make a directory one: its path, why it is, how many entries are left."""
        for spoil, why in ((lambda path: path.chmod(0o777), self.PLANTED),
                           (lambda path: path.chmod(0o702), self.PLANTED),
                           (lambda path: path.chmod(0o1720), self.PLANTED),
                           (self.give_away, self.PLANTED),
                           (self.replace_by_a_file, "Not a directory"),
                           (self.replace_by_a_link, "Not a directory")):
            for name, left in ((None, 3), ("v1", 0)):
                shutil.rmtree(self.cache, ignore_errors=True)
                shard = self.build()[0].parent
                path = self.cache / name if name else shard
                if spoil(path) is not False:
                    yield path, why, left

    def give_away(self, path):
        if os.getuid() != 0:
            return False
        os.chown(path, HOMELESS, HOMELESS)
        return True

    def replace_by_a_file(self, path):
        shutil.rmtree(path)
        path.write_text("")

    def replace_by_a_link(self, path):
        path.rename(self.cache / "aside")
        path.symlink_to(self.cache / "aside")

    def test_list_names_it_and_fails(self):
        for path, why, left in self.in_turn():
            done = self.run_it("list", "--cache-dir", self.cache)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, f"topk-jit-warm: {path}: {why}\n")
            done = self.run_it("list", "--json", "--cache-dir", self.cache)
            self.assertEqual((done.returncode, done.stderr),
                             (1, f"topk-jit-warm: {path}: {why}\n"))
            found = json.loads(done.stdout)
            self.follows("list", found)
            self.assertEqual(found["places"][0]["unreadable"], [{"path": str(path), "why": why}])
            self.assertEqual(found["summary"]["entries"], left)

    def test_prune_removes_the_others_names_it_and_fails(self):
        for path, why, left in self.in_turn():
            done = self.run_it("prune", "--all", "--json", "--cache-dir", self.cache)
            self.assertEqual((done.returncode, done.stderr),
                             (1, f"topk-jit-warm: {path}: {why}\n"))
            found = json.loads(done.stdout)
            self.follows("prune", found)
            self.assertEqual(found["unreadable"], [{"path": str(path), "why": why}])
            self.assertEqual(found["summary"]["removed"], left)
            self.assertEqual(self.run_it("prune", "--all", "--cache-dir", self.cache).returncode, 1)

    def test_verify_names_it_and_fails(self):
        for path, why, left in self.in_turn():
            kind = "unusable" if why == self.PLANTED else "unreadable"
            found = self.object("verify", status=1)
            self.assertIn((kind, str(path), why),
                          [(f["kind"], f["path"], f["why"]) for f in found["findings"]])
            self.assertEqual(found["summary"]["entries"], left)

    def test_temporary_directory_that_others_can_write_is_named_by_verify(self):
        self.build()
        (self.cache / "tmp").chmod(0o777)
        finding, = self.object("verify", status=1)["findings"]
        self.assertEqual((finding["kind"], finding["path"]), ("unusable", f"{self.cache}/tmp"))
        self.object("list")

    def test_nothing_is_compiled_into_it_or_taken_from_it(self):
        for path, why, _ in self.in_turn():
            if why == self.PLANTED:
                done = self.warm("--json --arch sm_80,sm_90 --topk 9001,9002 -j1 --nvrtc",
                                 [FAKE_NVRTC])
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(self.PLANTED.removeprefix("it "), done.stderr)
                self.assertIn(str(self.cache), done.stderr)

    def test_read_only_directories_are_held_to_the_same(self):
        shard = self.build(cache=self.folder / "image")[0].parent
        shard.chmod(0o777)
        self.cache.mkdir(mode=0o700)
        image = self.read_only("image")
        done = self.run_it("list", "--cache-dir", self.cache, environment=image)
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"topk-jit-warm: {shard}: {self.PLANTED}\n"))
        finding, = self.object("verify", status=1, environment=image)["findings"]
        self.assertEqual(finding["path"], str(shard))


class Together(StoreTest):
    MANY = "--arch sm_80,sm_90 --layout plain,ragged --topk " + ",".join(map(str, range(9001, 9100)))

    def start(self, command, *arguments):
        process = subprocess.Popen(
            [str(warm_command.BINARY), command, "--cache-dir", str(self.cache),
             *map(str, arguments)],
            env=warm_command.clean_environment(), cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        self.addCleanup(process.kill)
        return process

    def test_prune_and_the_others_beside_a_build(self):
        self.cache.mkdir(mode=0o700)
        build = self.start("build", *self.MANY.split(), "--nvrtc", FAKE_NVRTC)
        runs = 0
        while build.poll() is None or runs == 0:
            self.assertEqual(self.object("verify")["findings"], [])
            self.object("list")
            self.object("prune", "--all")
            runs += 1
        _, said = build.communicate()
        self.assertEqual(build.returncode, 0, said)
        self.assertEqual(self.object("verify")["findings"], [])

    def test_two_prunes_remove_each_entry_once(self):
        self.build(self.MANY)
        total = len(self.files())
        prunes = [self.start("prune", "--all", "--json") for _ in range(2)]
        removed = 0
        for prune in prunes:
            said, trouble = prune.communicate()
            self.assertEqual((prune.returncode, trouble), (0, ""))
            removed += said.count('"status": "removed"')
        self.assertEqual((removed, self.files()), (total, []))

    def test_two_repairs(self):
        for path in self.build(self.MANY):
            path.write_bytes(b"")
        repairs = [self.start("verify", "--repair") for _ in range(2)]
        for repair in repairs:
            _, trouble = repair.communicate()
            self.assertEqual((repair.returncode, trouble), (0, ""))
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    tally.main()
