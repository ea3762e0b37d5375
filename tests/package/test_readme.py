#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README quotes programs that tests build and run, and tells what the code reads."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import tally  # noqa: E402


class Readme(unittest.TestCase):
    def test_quotes_the_decode_loop_word_for_word(self):
        example = (ROOT / "tests" / "consumer" / "decode_loop.c").read_text()
        blocks = (ROOT / "README.md").read_text().split("```c\n")[1:]
        self.assertIn(example, [block.partition("```\n")[0] for block in blocks])


class EnvironmentVariables(unittest.TestCase):
    """The one table has what the code reads, and the code reads nothing else."""

    def read_by_the_code(self):
        names = set()
        for path in [*(ROOT / "src").glob("*.c"), *(ROOT / "cache").glob("*.c")]:
            text = path.read_text()
            if path.name.startswith("config"):
                names.update(re.findall(r'"((?:TOPK_JIT|XDG)_[A-Z_]+|HOME|CUDA_HOME)"', text))
            else:  # only the configuration asks the environment
                self.assertNotRegex(text, r"\bgetenv\b|secure_getenv|\benviron\b", path.name)
        return names

    def told_by_the_readme(self):
        text = (ROOT / "README.md").read_text()
        table = text.partition("## Environment variables")[2].partition("\n## ")[0]
        rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
        return {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}

    def test_the_table_is_complete_and_true(self):
        self.assertGreater(len(self.read_by_the_code()), 10)
        self.assertEqual(self.told_by_the_readme(), self.read_by_the_code())


if __name__ == "__main__":
    tally.main()
