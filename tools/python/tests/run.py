#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs pytest here and ends with the line that run_ctest.py counts.

run.py [PYTEST_ARGUMENTS...]. Python finds the package and the module fake_tensor by itself.
"""
import pathlib
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


def main():
    tally = Tally()
    folder = str(pathlib.Path(__file__).parent)
    places = [] if any(not argument.startswith("-") for argument in sys.argv[1:]) else [folder]
    arguments = ["-q", "-p", "no:cacheprovider", "--rootdir", folder, *sys.argv[1:], *places]
    status = pytest.main(arguments, plugins=[tally])
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 0 if status == 0 and tally.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
