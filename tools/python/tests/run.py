#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs pytest here and ends with the line that run_ctest.py counts.

run.py [PYTEST_ARGUMENTS...]: all but the tests with torch.
run.py --torch [PYTEST_ARGUMENTS...]: those alone; without torch it says how many there are, and ends
with status 77. Python finds the package and the module fake_tensor by itself.
"""
import importlib.util
import pathlib
import re
import sys

import pytest


class Tally:
    passed = failed = skipped = 0

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed += 1
        elif report.skipped:
            self.skipped += 1
        elif report.when == "call":
            self.passed += 1

    def pytest_collectreport(self, report):
        self.failed += report.failed


FOLDER = pathlib.Path(__file__).parent
WITH_TORCH = FOLDER / "test_torch.py"


def skip_torch():
    print(f"{len(re.findall('^def test_', WITH_TORCH.read_text(), re.MULTILINE))} tests")
    print("this Python has no torch")
    return 77


def main():
    own = sys.argv[1:]
    with_torch = own[:1] == ["--torch"]
    if with_torch and importlib.util.find_spec("torch") is None:
        return skip_torch()
    what = [str(WITH_TORCH)] if with_torch else [str(FOLDER), f"--ignore={WITH_TORCH}"]
    arguments = ["-q", "-p", "no:cacheprovider", "--rootdir", str(FOLDER), *what]
    tally = Tally()
    status = pytest.main(arguments + (own[1:] if with_torch else own), plugins=[tally])
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 0 if status == 0 and tally.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
