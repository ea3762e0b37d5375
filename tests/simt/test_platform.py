#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both platform.cuh define the same names: a template cannot use what only one of them has.

Usage: test_platform.py REAL EXECUTORS
"""
import collections
import pathlib
import re
import sys

FUNCTION = re.compile(r"^(?:TKJ_DEVICE|TKJ_SIMT_PASS)[\w \t]*?[ *](tkj_\w+)\(", re.M)
MACRO = re.compile(r"^#define (TKJ_\w+)", re.M)
TYPE = re.compile(r"^typedef .*?\b(tkj_\w+)\b", re.M)

# what the real one needs for itself
OWN = {"tkj_shared_address", "tkj_remote_address", "tkj_cursor_after"}


def names_of(path):
    """Overloads count each."""
    text = pathlib.Path(path).read_text()
    names = collections.Counter(FUNCTION.findall(text) + MACRO.findall(text) + TYPE.findall(text))
    return {n: c for n, c in names.items() if n not in OWN and not n.startswith("TKJ_SIMT_")}


def main():
    real, executors = map(names_of, sys.argv[1:3])
    wrong = {n for n in real.keys() | executors.keys() if real.get(n) != executors.get(n)}
    for name in sorted(wrong):
        print(f"{name}: {real.get(name, 0)} times on the GPU, {executors.get(name, 0)} times here")
    if len(real) < 40:
        wrong.add("")
        print(f"only {len(real)} names were found")
    print(f"{0 if wrong else 1} passed, {1 if wrong else 0} failed, 0 skipped")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
