#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_ctest.py counts every test, and also those that could not be counted by themselves."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tally

SCRIPT = pathlib.Path(__file__).with_name("run_ctest.py")

REPORT = """<?xml version="1.0" encoding="UTF-8" ?>
<testsuites><testsuite name="group" tests="1" failures="0" errors="{errors}" skipped="0">
{cases}
</testsuite></testsuites>
"""
PASSED = '<testcase name="works" time="0.0"></testcase>'
FAILED = (
    '<testcase name="breaks" time="0.0"><failure><![CDATA[0x1 != 0x2\nhere.c:8: error]]></failure>'
    "</testcase>"
)
SKIPPED = '<testcase name="waits" time="0.0"><skipped/></testcase>'


def report(*cases, errors=0):
    """Shell text that writes a report as cmocka does."""
    text = REPORT.format(cases="\n".join(cases), errors=errors)
    return f"cat >\"${{CMOCKA_XML_FILE%/*}}/group.xml\" <<'END'\n{text}END\n"


class Counting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="run ctest ")
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        self.testfile = self.build / "CTestTestfile.cmake"

    def entry(self, name, shell, **properties):
        script = self.build / f"{name}.sh"
        script.write_text(shell)
        properties = " ".join(f'{key} "{value}"' for key, value in properties.items())
        with self.testfile.open("a") as file:
            file.write(f'add_test("{name}" "/bin/bash" "{script}")\n')
            file.write(
                f'set_tests_properties("{name}" PROPERTIES SKIP_RETURN_CODE 77 {properties})\n'
            )

    def run_script(self, *arguments):
        totals = self.build / "totals"
        command = [sys.executable, str(SCRIPT), str(self.build), str(self.build / "reports")]
        command += ["--totals", str(totals), *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        self.output = done.stdout + done.stderr
        return done.returncode, totals.read_text().split()

    def expect(self, status, totals, *arguments):
        got = self.run_script(*arguments)
        self.assertEqual(got, (status, totals.split()), self.output)

    def test_every_case_of_every_report_is_counted(self):
        self.entry("one", report(PASSED, PASSED))
        self.entry("two", report(PASSED, SKIPPED))
        self.expect(0, "3 0 0 1")

    def test_equal_group_names_of_two_executables_do_not_hide_each_other(self):
        self.entry("one", report(FAILED) + "exit 1")
        self.entry("two", report(PASSED))
        self.expect(1, "1 1 0 0")

    def test_failure_is_shown_with_its_name_and_message(self):
        self.entry("one", report(PASSED, FAILED) + "exit 1")
        self.expect(1, "1 1 0 0")
        self.assertIn("one: breaks", self.output)
        self.assertIn("here.c:8: error", self.output)

    def test_crash_without_a_report_is_a_failure(self):
        self.entry("one", "kill -ABRT $$")
        self.expect(1, "0 1 0 0")
        self.assertIn("one: no report", self.output)

    def test_crash_after_a_report_of_passed_tests_is_a_failure(self):
        self.entry("one", report(PASSED) + "echo leak >&2; exit 23")
        self.expect(1, "1 1 0 0")
        self.assertIn("leak", self.output)

    def test_success_without_a_report_is_a_failure(self):
        self.entry("one", "exit 0")
        self.expect(1, "0 1 0 0")

    def test_report_cut_off_is_a_failure(self):
        self.entry("one", 'echo "<testsuites><test" >"${CMOCKA_XML_FILE%/*}/group.xml"')
        self.expect(1, "0 1 0 0")

    def test_failed_group_setup_is_a_failure(self):
        self.entry("one", report(errors=1) + "exit 1")
        self.expect(1, "0 1 0 0")

    def test_exit_77_skips_as_many_tests_as_it_said(self):
        self.entry("gpu.one", "echo 12 tests; echo no GPU; exit 77", LABELS="gpu")
        self.entry("two", "echo 3 tests; exit 77")
        self.entry("three", report(PASSED))
        self.expect(0, "1 0 12 3 gpu.one")

    def test_exit_77_without_a_number_is_a_failure(self):
        self.entry("one", "exit 77", LABELS="gpu")
        self.expect(1, "0 1 0 0")

    def test_script_counts_as_its_last_line_says(self):
        self.entry("one", "echo hello; echo 4 passed, 0 failed, 1 skipped", LABELS="script")
        self.expect(0, "4 0 0 1")

    def test_script_without_a_count_is_one_test(self):
        self.entry("one", "exit 0", LABELS="script")
        self.entry("two", "echo why; exit 3", LABELS="script")
        self.expect(1, "1 1 0 0")
        self.assertIn("why", self.output)

    def test_script_that_fails_after_its_count_is_a_failure(self):
        self.entry("one", "echo 4 passed, 0 failed, 0 skipped; exit 1", LABELS="script")
        self.expect(1, "4 1 0 0")

    def test_missing_executable_is_a_failure(self):
        self.testfile.write_text('add_test("gone" "/nonexistent/test")\n')
        self.expect(1, "0 1 0 0")

    def test_nothing_ran_is_a_failure(self):
        self.testfile.write_text("")
        self.expect(1, "0 1 0 0")

    def test_arguments_choose_by_label(self):
        self.entry("one", report(FAILED) + "exit 1")
        self.entry("two", report(PASSED), LABELS="threads")
        self.expect(0, "1 0 0 0", "--", "-L", "threads")

    def test_old_reports_are_not_counted(self):
        self.entry("one", report(PASSED))
        self.expect(0, "1 0 0 0")
        (self.build / "totals").unlink()
        self.expect(0, "1 0 0 0")


if __name__ == "__main__":
    tally.main()
