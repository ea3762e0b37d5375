#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs pytest here and ends with the line that run_ctest.py counts.

run.py [PYTEST_ARGUMENTS...]: all but the tests with real frameworks of the GPU.
run.py --frameworks [PYTEST_ARGUMENTS...]: those alone; without torch it says how many there are,
and ends with status 77. Python finds the package and the module fake_tensor by itself.
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
FRAMEWORKS = [
    FOLDER / f"test_{name}.py"
    for name in ("torch", "torch_reference", "distributions", "serving", "cupy", "jax")
]


def skip_frameworks():
    texts = [path.read_text() for path in FRAMEWORKS]
    print(f"{sum(len(re.findall('^def test_', text, re.MULTILINE)) for text in texts)} tests")
    print("this Python has no torch")
    return 77


def main():
    own = sys.argv[1:]
    if own[:1] == ["--frameworks"]:
        if importlib.util.find_spec("torch") is None:
            return skip_frameworks()
        what, own = [str(path) for path in FRAMEWORKS], own[1:]
    else:
        what = [str(FOLDER), *(f"--ignore={path}" for path in FRAMEWORKS)]
    arguments = ["-q", "-p", "no:cacheprovider", "--rootdir", str(FOLDER), *what, *own]
    tally = Tally()
    status = pytest.main(arguments, plugins=[tally])
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 0 if status == 0 and tally.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
