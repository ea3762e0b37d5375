#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What topk-jit-warm says of a value keeps its reason and is text, whatever the value is.

Usage: test_warm_messages.py TOPK_JIT_WARM FAKE_LIBNVRTC
"""
import pathlib
import re
import subprocess
import sys
import unittest

import store_case

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

LONG = "v" * 100_000
ODD = b"v\x1b[2J\xff\xc3\n\x9b31m\xc2\x9b"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
COMMANDS = ("build list inspect verify prune dump pack unpack explain doctor completions manual "
            "help").split()


class Messages(store_case.StoreTest):
    def complaint(self, *words, **options):
        """The one line of a command that could do nothing: text, and not too long."""
        done = self.run_it(*words, text=False, **options)
        said = done.stderr.decode()
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual((said.count("\n"), said[-1:]), (1, "\n"))
        self.assertIsNone(CONTROL.search(said))
        self.assertLess(len(said), 2100)
        return said

    def own(self, command, *words):
        return self.complaint(command, *words, "--cache-dir", self.cache)


class LongValues(Messages):
    def test_reason_stays_for_every_kind_of_value(self):
        name = f"/{LONG}"
        for words, reason in (
            (("build", "--arch", LONG), "v...' (expected: "),
            (("build", "--arch", "sm_90", "--topk", LONG), "' (expected: numbers from 1 on"),
            (("build", "--arch", "sm_90", "--topk", f"{LONG},"), "--topk: an item is empty in 'vvv"),
            (("build", "--arch", "sm_90", "--jobs", LONG), "' (expected: a number from 1 to 1024)"),
            (("build", "--arch", "sm_90", "--nvrtc", LONG), "' (expected: a file)"),
            (("build", "--arch", "sm_90", "--manifest", LONG), "v...: File name too long"),
            (("build", "--arch", "sm_90", f"--{LONG}"), "'topk-jit-warm help build' lists"),
            (("build", "--arch", "sm_90", f"--json={LONG}"), "v...' gives it one"),
            (("list", LONG), "v...'; 'topk-jit-warm help list' lists"),
            (("list", "--layer", LONG), "v...' (expected: "),
            (("inspect", name), "v...: File name too long"),
            (("prune", "--older-than", LONG), "v...' (expected: "),
            (("pack", name), "v...: OUT is a file whose name ends in .tkp"),
            (("pack", f"{name}.tkp"), "v...: File name too long"),
            (("unpack", f"{name}.tkp"), "v...: it cannot be opened"),
            (("dump", LONG, "--sass"), "v...' is no key (expected: 4 to 32 hexadecimal digits)"),
            (("explain", LONG), "spec text: 100000 bytes, expected at most 255"),
            (("help", LONG), "v...' (expected: build, list"),
            ((LONG,), "v...' (expected: build, list"),
        ):
            with self.subTest(words=[word[:20] for word in words]):
                said = self.complaint(*words)
                self.assertIn(reason, said, re.sub("v{9,}", "vvv", said))

    def test_reason_stays_for_every_variable(self):
        for name, reason in (
            ("TOPK_JIT_MODE", "expected auto, readonly, offline or off"),
            ("TOPK_JIT_TOOLCHAIN", "expected any or exact"),
            ("TOPK_JIT_SHARED", "expected 1 or 0"),
            ("TOPK_JIT_LOCK_TIMEOUT_MS", "expected a number from 0"),
            ("TOPK_JIT_CACHE_MAX_BYTES", "expected a number from 1"),
            ("TOPK_JIT_RO_DIRS", "expected absolute paths"),
            ("TOPK_JIT_RECORD", "expected absolute paths"),
        ):
            with self.subTest(name):
                said = self.complaint("explain", "topk=9001", "--arch", "sm_90", environment={name: LONG})
                self.assertIn(name, said)
                self.assertIn(reason, said)

    def test_reason_stays_for_a_library_that_cannot_be_loaded(self):
        done = self.run_it("build", "--arch", "sm_90", "--topk", "9001", "--cache-dir", self.cache,
                           environment={"TOPK_JIT_NVRTC": f"/{LONG}"})
        self.assertRegex(done.stderr, r"/v+\.\.\.', set by TOPK_JIT_NVRTC, cannot be loaded: "
                         "cannot open shared object file: File name too long")


class OddBytes(Messages):
    def options_of(self, command):
        """Those with a value, as help lists them."""
        listed = self.run_it("help", command).stdout
        return re.findall(r"^  .{4}--([a-z-]+) [A-Z]+", listed, re.MULTILINE)

    def test_every_option_and_operand_shows_them_as_text(self):
        seen = 0
        for command in COMMANDS:
            for words in [(f"--{name}", ODD) for name in self.options_of(command)] + [
                    (ODD, ODD, ODD), (b"--" + ODD,), (b"--json=" + ODD,)]:
                with self.subTest(command=command, words=words):
                    done = subprocess.run(
                        [str(store_case.warm_command.BINARY), command, *words],
                        cwd=self.folder, env=self.own_environment(), stdin=subprocess.DEVNULL,
                        capture_output=True, timeout=store_case.HANG_SECONDS)
                    said = done.stderr.decode()
                    self.assertIsNone(CONTROL.search(said), repr(said))
                    if "[2J" in said:
                        self.assertIn(r"v\x1b[2J\xff\xc3\x0a\x9b31m\xc2\x9b", said)
                        seen += 1
        self.assertGreater(seen, 2 * len(COMMANDS), "hardly a message quotes its value")

    def test_text_of_every_language_is_shown_as_it_is(self):
        self.assertIn("/größe/大きさ: No such file", self.own("inspect", "/größe/大きさ"))


class OrderOfWords(Messages):
    def test_command_behind_its_options_is_told_to_come_first(self):
        for command in COMMANDS:
            for words in (("--cache-dir", self.cache, command), ("--json", command),
                          ("-v", command, "more"), ("--unknown", command)):
                with self.subTest(words=words):
                    said = self.complaint(*words)
                    self.assertIn(f"the command comes first: topk-jit-warm {command} [options]", said)

    def test_other_word_there_is_unexpected_as_before(self):
        self.assertIn("unexpected argument 'lst'", self.complaint("--json", "lst"))

    def test_command_that_is_a_value_is_none(self):
        self.assertIn("No such file", self.complaint("--arch", "sm_90", "--manifest", "list"))


class Keys(Messages):
    def test_word_that_is_neither_file_nor_key_is_told_what_both_are(self):
        for word in ("41f", "x", "41fg", "0" * 33, "kernel.tkc"):
            said = self.own("inspect", word)
            self.assertIn(f"'{word}' is no file here and no KEY (expected: a file, or of a key", said)
            self.assertIn("4 to 32 hexadecimal", said)

    def test_key_that_no_entry_has_is_told_so(self):
        self.build()
        for command in (("inspect",), ("dump", "--sass")):
            said = self.own(*command, "0123456789abcdef")
            self.assertIn("no entry of the cache has a key that begins with '0123456789abcdef'", said)


class Numbers(Messages):
    def test_one_is_one(self):
        self.build("--arch sm_90 --topk 9001")
        pack = self.folder / "one.tkp"
        for words, said in ((("pack", pack), "packed 1 entry, "),
                            (("inspect", pack), "pack       1 entry, "),
                            (("list",), ": 1 entry, "),
                            (("verify",), "1 entry and 0 packs checked")):
            self.assertIn(said, self.says(words[0], *words[1:]))
        said = self.says("explain", "topk=9002", "--arch", "sm_90", status=4)
        self.assertIn("1 of 1 kernel missing", said)

    def test_more_are_several(self):
        self.build("--arch sm_90 --topk 9001,9002")
        self.assertIn("packed 2 entries, ", self.says("pack", self.folder / "two.tkp"))


class EmptyItems(Messages):
    def test_are_told_as_such_in_every_list(self):
        for option in ("arch", "operation", "topk", "dtype", "layout", "page-size", "index-dtype",
                       "tie-break"):
            for value in ("9001,", ",9001", "9001,,9002", ",", ",,"):
                said = self.own("build", f"--{option}", value)
                self.assertIn(f"--{option}: an item is empty in '{value}'", said)

    def test_value_that_is_empty_alone_is_a_wrong_value(self):
        self.assertIn("--topk: wrong value ''", self.own("build", "--topk", ""))


if __name__ == "__main__":
    tally.main()
