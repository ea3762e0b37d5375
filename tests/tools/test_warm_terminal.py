#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of topk-jit-warm fit a terminal, and lose nothing; elsewhere a row is one line.

Usage: test_warm_terminal.py TOPK_JIT_WARM FAKE_LIBNVRTC
"""
import fcntl
import os
import pathlib
import pty
import re
import struct
import sys
import termios
import unittest

import store_case

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

WIDTHS = (40, 60, 79, 80, 81, 100, 132, 165, 166, 250)


class Terminal(store_case.StoreTest):
    def setUp(self):
        super().setUp()
        self.build("--arch sm_90 --topk 2048,9001 --layout paged --page-size 64 --sorted --nan-last")
        self.pack = self.folder / "a.tkp"
        self.says("pack", self.pack)

    TABLES = (("list",), ("prune", "--all", "--dry-run"), ("unpack", "--dry-run", "a.tkp"),
              ("inspect", "a.tkp"))

    def shown(self, width, *words, **environment):
        """The lines that a terminal of a width is given; 0: it does not know how wide it is."""
        here, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        attributes = termios.tcgetattr(there)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(there, termios.TCSANOW, attributes)
        told = []
        with os.fdopen(here, "rb", buffering=0) as reader:
            done = self.start(words, there, environment)
            os.close(there)
            while True:
                try:
                    told.append(reader.read(65536))
                except OSError:  # nobody has the other end any more
                    break
                if not told[-1]:
                    break
        self.assertEqual(done.wait(store_case.HANG_SECONDS), 0)
        return b"".join(told).decode().splitlines()

    def start(self, words, stdout, environment):
        command = [str(store_case.warm_command.BINARY), words[0], "--cache-dir", str(self.cache),
                   *words[1:]]
        return store_case.subprocess.Popen(command, cwd=self.folder, stdout=stdout,
                                           stdin=store_case.subprocess.DEVNULL,
                                           env=self.own_environment(environment))

    def piped(self, words):
        return self.says(*words).splitlines()

    @staticmethod
    def without_blanks_and_ages(lines):
        return re.sub(r"\d+s|\s", "", "".join(lines))

    def table_of(self, lines):
        """From the titles on; what is above and below a table is as long as its path."""
        first = next(i for i, line in enumerate(lines) if line.startswith("KEY"))
        return [line for line in lines[first:] if str(self.cache) not in line]

    def test_no_line_is_too_wide_and_nothing_is_cut(self):
        for words in self.TABLES:
            whole = self.without_blanks_and_ages(self.table_of(self.piped(words)))
            for width in WIDTHS:
                with self.subTest(words=words, width=width):
                    lines = self.table_of(self.shown(width, *words))
                    self.assertLessEqual(max(map(len, lines)), width)
                    self.assertEqual(self.without_blanks_and_ages(lines), whole)

    def test_wide_terminal_is_told_what_a_file_is(self):
        for words in self.TABLES:
            self.assertEqual(len(self.shown(1000, *words)), len(self.piped(words)))

    def test_spec_stays_beside_its_row_where_there_is_room(self):
        lines = self.table_of(self.shown(132, "list"))
        self.assertRegex(lines[1], r"\A[0-9a-f]{12}  sm_90 .*  operation=select,layout=paged,topk=\d+,\Z")
        self.assertRegex(lines[2], r"\A {80,}dtype=")

    def test_columns_says_it_first_and_eighty_are_usual(self):
        for width, columns, most in ((200, "100", 100), (0, None, 80), (100, "wide", 100),
                                     (100, "0", 100)):
            more = {"COLUMNS": columns} if columns is not None else {}
            lines = self.table_of(self.shown(width, "list", **more))
            self.assertLessEqual(max(map(len, lines)), most)
            self.assertGreater(max(map(len, lines)), most - 30)

    def test_file_is_told_whole_rows_whatever_columns_says(self):
        for words in self.TABLES:
            told = self.says(*words, environment={"COLUMNS": "40"}).splitlines()
            self.assertEqual(len(told), len(self.piped(words)))

    def test_every_table_has_titles_on_a_terminal_and_in_a_file(self):
        for words in self.TABLES:
            for lines in (self.piped(words), self.shown(200, *words)):
                self.assertEqual(sum(line.startswith("KEY ") for line in lines), 1, words)


class NoRows(store_case.StoreTest):
    def test_have_no_titles(self):
        self.build("--arch sm_90 --topk 9001")
        self.assertNotIn("KEY", self.says("prune", "--older-than", "1d"))


if __name__ == "__main__":
    tally.main()
