# SPDX-License-Identifier: Apache-2.0
"""Runs the unittest cases of a script and ends with the line that run_ctest.py counts."""
import sys
import unittest


def count(module="__main__"):
    return unittest.defaultTestLoader.loadTestsFromName(module).countTestCases()


def main():
    suite = unittest.defaultTestLoader.loadTestsFromName("__main__")
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    passed = result.testsRun - len(result.failures) - len(result.errors) - skipped
    print(f"{max(passed, 0)} passed, {failed} failed, {skipped} skipped")
    sys.exit(0 if failed == 0 and passed > 0 else 1)


def skip_all(reason):
    """Ends the script as one whose tests could not run."""
    print(f"{count()} tests\n{reason}")
    sys.exit(77)
