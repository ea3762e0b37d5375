#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README quotes programs that tests build and run."""
import pathlib
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


if __name__ == "__main__":
    tally.main()
