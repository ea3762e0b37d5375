#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of one build folder and counts every single one of them.

ctest counts executables, and an executable that dies before it has written its report would be
counted by nobody. So each ctest entry runs with a report folder of its own, and is then judged by
what it left there:

- a cmocka executable counts as the tests in its XML report. It adds one failure if it crashed,
  failed with a report of passed tests only, or wrote no report;
- one that exits 77 (no GPU) says first how many tests it has, as "N tests": they are skipped;
- an entry with the label `script` counts as what its last line says, "N passed, N failed,
  N skipped", or as one test.

Usage: run_ctest.py BUILD REPORTS [--name TEXT] [--jobs N] [--totals FILE] [-- CTEST_ARGUMENTS]

Prints what failed, then the counts. Appends one line to FILE: passed, failed, skipped for want of a
GPU, otherwise skipped, and the names of the entries that want a GPU. Exit status 1 if anything
failed or nothing ran.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

SKIPPED_EXIT = 77
TIMEOUT_SECONDS = 600
TAIL_LINES = 40


@dataclasses.dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    no_gpu: int = 0
    skipped: int = 0
    wanting_gpu: list = dataclasses.field(default_factory=list)
    messages: list = dataclasses.field(default_factory=list)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.no_gpu += other.no_gpu
        self.skipped += other.skipped
        self.wanting_gpu += other.wanting_gpu
        self.messages += other.messages

    def fail(self, message):
        self.failed += 1
        self.messages.append(message)


@dataclasses.dataclass
class Outcome:
    """What ctest says about one entry."""

    state: str  # "passed", "failed", "skipped"
    reason: str
    output: str


def tail(text):
    return "\n".join("    " + line for line in text.rstrip().splitlines()[-TAIL_LINES:])


def list_entries(build, arguments):
    """Number, name and labels of the tests that ctest would run."""
    command = ["ctest", "--test-dir", str(build), "--show-only=json-v1", *arguments]
    listing = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    chosen = {test["name"] for test in listing["tests"]}
    if arguments:  # -I counts all tests, also those that the arguments leave out
        command = command[:4]
        listing = json.loads(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout
        )
    entries = []
    for number, test in enumerate(listing["tests"], start=1):
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        if test["name"] in chosen:
            entries.append((number, test["name"], properties.get("LABELS", [])))
    return entries


def read_outcome(junit):
    case = ElementTree.parse(junit).getroot().find("testcase")
    output = case.findtext("system-out") or ""
    if case.find("skipped") is not None and case.get("status") == "notrun":
        reason = case.find("skipped").get("message", "")
        if "SKIP_RETURN_CODE" in reason:
            return Outcome("skipped", reason, output)
        return Outcome("failed", reason or "it was not run", output)
    if case.find("failure") is not None or case.get("status") != "run":
        failure = case.find("failure")
        reason = failure.get("message", "") if failure is not None else ""
        return Outcome("failed", reason or "it failed", output)
    return Outcome("passed", "", output)


def run_entry(build, number, folder):
    """Runs one entry through ctest, which knows its environment, folder and time limit."""
    folder.mkdir(parents=True)
    junit = folder / "ctest.junit"
    environment = dict(
        os.environ, CMOCKA_MESSAGE_OUTPUT="xml", CMOCKA_XML_FILE=str(folder / "%g.xml")
    )
    command = ["ctest", "--test-dir", str(build), "-I", f"{number},{number}"]
    command += ["--output-junit", str(junit), "--timeout", str(TIMEOUT_SECONDS)]
    command += ["--test-output-size-passed", "1000000", "--test-output-size-failed", "1000000"]
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if not junit.exists():
        return Outcome("failed", "ctest could not run it", done.stdout + done.stderr)
    try:
        return read_outcome(junit)
    except ElementTree.ParseError as error:
        return Outcome("failed", f"what ctest wrote cannot be read: {error}", done.stdout)


def count_case(name, case, counts):
    problem = case.find("failure")
    if problem is None:
        problem = case.find("error")
    if problem is not None:
        text = problem.text or problem.get("message") or ""
        counts.fail(f"{name}: {case.get('name')}\n{tail(text)}")
    elif case.find("skipped") is not None:
        counts.skipped += 1
        counts.messages.append(f"{name}: {case.get('name')}: skipped by the test itself")
    else:
        counts.passed += 1


def count_report(name, report, counts):
    try:
        suites = ElementTree.parse(report).getroot()
    except ElementTree.ParseError as error:
        counts.fail(f"{name}: its report {report.name} cannot be read: {error}")
        return
    for suite in suites.iter("testsuite"):
        cases = suite.findall("testcase")
        for case in cases:
            count_case(name, case, counts)
        # a group set-up that fails leaves errors, but no cases
        if not cases and int(suite.get("errors", "0")) > 0:
            counts.fail(f"{name}: the set-up of group {suite.get('name')} failed")


def count_skipped(name, labels, outcome):
    said = re.match(r"(\d+) tests\b", outcome.output)
    counts = Counts()
    if said is None or int(said.group(1)) == 0:
        counts.fail(f"{name}: exit status 77 without a first line 'N tests'")
    elif "gpu" in labels:
        counts.no_gpu = int(said.group(1))
        counts.wanting_gpu.append(name)
    else:
        counts.skipped = int(said.group(1))
        counts.messages.append(f"{name}: skipped\n{tail(outcome.output)}")
    return counts


def count_script(name, outcome):
    counts = Counts()
    last = outcome.output.rstrip().rsplit("\n", 1)[-1]
    said = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", last)
    if said is not None:
        counts.passed, counts.failed, counts.skipped = map(int, said.groups())
    elif outcome.state == "passed":
        counts.passed = 1
    if outcome.state == "failed":
        counts.failed = max(counts.failed, 1)
    if counts.failed > 0:
        counts.messages.append(f"{name}: {outcome.reason}\n{tail(outcome.output)}")
    return counts


def count_cmocka(name, outcome, folder):
    counts = Counts()
    for report in sorted(folder.glob("*.xml")):
        count_report(name, report, counts)
    if counts.passed + counts.failed + counts.skipped == 0:
        counts.fail(f"{name}: no report: {outcome.reason or 'exit status 0'}\n{tail(outcome.output)}")
    elif outcome.state == "failed" and counts.failed == 0:
        counts.fail(f"{name}: {outcome.reason}, all its tests passed\n{tail(outcome.output)}")
    elif outcome.state == "failed" and outcome.output.strip():
        counts.messages.append(f"{name}: {outcome.reason}\n{tail(outcome.output)}")
    return counts


def count_entry(name, labels, outcome, folder):
    if outcome.state == "skipped":
        return count_skipped(name, labels, outcome)
    if "script" in labels:
        return count_script(name, outcome)
    return count_cmocka(name, outcome, folder)


def run_all(build, reports, jobs, arguments):
    shutil.rmtree(reports, ignore_errors=True)

    def work(entry):
        number, name, labels = entry
        folder = reports / f"{number:03d}-{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}"
        return count_entry(name, labels, run_entry(build, number, folder), folder)

    total = Counts()
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        for counts in pool.map(work, list_entries(build, arguments)):
            total.add(counts)
    if total == Counts():
        total.fail("no test ran")
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("reports", type=pathlib.Path)
    parser.add_argument("--name", default="tests")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--totals", type=pathlib.Path)
    own, arguments = sys.argv[1:], []
    if "--" in own:
        own, arguments = own[: own.index("--")], own[own.index("--") + 1 :]
    options = parser.parse_args(own)
    total = run_all(options.build, options.reports.resolve(), options.jobs, arguments)
    for message in total.messages:
        print(message)
    print(
        f"{options.name}: {total.passed} passed, {total.failed} failed, "
        f"{total.no_gpu} without a GPU, {total.skipped} otherwise skipped"
    )
    if options.totals is not None:
        with open(options.totals, "a", encoding="utf-8") as file:
            numbers = (total.passed, total.failed, total.no_gpu, total.skipped)
            print(*numbers, *total.wanting_gpu, file=file)
    return 1 if total.failed > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
