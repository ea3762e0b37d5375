#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The libraries show what the public header declares, and nothing else.

test_symbols.py SHARED STATIC READELF VERSION
"""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import tally  # noqa: E402

SHARED, STATIC, READELF, VERSION = sys.argv[1:5]
del sys.argv[1:5]

DECLARED = re.compile(r"^TOPK_JIT_EXPORT\s[^;{]*?\b(\w+)\(", re.MULTILINE)
NODE = re.compile(r"^(TOPK_JIT_[\d.]+) \{\s*global:([^}]*?)(?:local:[^}]*)?\}", re.MULTILINE)

# Of the C library: the rest of it, and where a thread's own data are found.
LIBC = re.compile(r"lib(c|dl|pthread|m)\.so\.\d+|ld-linux.*\.so\.\d+")
# What the toolchain refers to in every shared library, weakly.
TOOLCHAIN = {"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__gmon_start__"}


def declared():
    header = (ROOT / "include" / "topk_jit" / "topk_jit.h").read_text()
    return sorted(DECLARED.findall(header))


def mapped():
    """Each function of the symbol map with its version."""
    text = (ROOT / "src" / "package" / "topk_jit.map").read_text()
    return {
        name: version
        for version, names in NODE.findall(text)
        for name in re.findall(r"(\w+);", names)
    }


def readelf(*arguments):
    command = [READELF, "--wide", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(table, file):
    """(binding, visibility, section, name) of each symbol that has a name."""
    fields = [line.split() for line in readelf(table, file).splitlines()]
    return [tuple(f[4:8]) for f in fields if len(f) >= 8 and re.fullmatch(r"\d+:", f[0])]


def dynamic(tag):
    return re.findall(rf"\({tag}\).*\[(.*)\]", readelf("--dynamic", SHARED))


class Header(unittest.TestCase):
    def test_its_functions_are_found(self):
        self.assertIn("topk_jit_select", declared())
        self.assertIn("topk_jit_fast_topk_transform_ragged_fused", declared())
        text = (ROOT / "include" / "topk_jit" / "topk_jit.h").read_text()
        self.assertEqual(len(declared()), text.count("TOPK_JIT_EXPORT"))

    def test_each_function_has_a_version_in_the_map(self):
        self.assertEqual(sorted(mapped()), declared())


class Shared(unittest.TestCase):
    def test_exports_the_declared_functions_with_their_versions_and_nothing_else(self):
        exported = [
            name
            for _, _, section, name in symbols("--dyn-syms", SHARED)
            if section not in ("UND", "ABS")
        ]
        self.assertEqual(
            sorted(exported), sorted(f"{name}@@{version}" for name, version in mapped().items())
        )

    def test_wants_nothing_but_the_c_library(self):
        wanted = [s for s in symbols("--dyn-syms", SHARED) if s[2] == "UND"]
        self.assertTrue(wanted)
        for binding, _, _, name in wanted:
            if not (binding == "WEAK" and name in TOOLCHAIN):
                self.assertRegex(name, r"@GLIBC_[\d.]+$")
        for library in dynamic("NEEDED"):
            self.assertRegex(library, LIBC)

    def test_its_name_says_what_it_is_compatible_with(self):
        major, minor, _ = VERSION.split(".")
        compatible = f"{major}.{minor}" if major == "0" else major
        self.assertEqual(dynamic("SONAME"), [f"libtopk_jit.so.{compatible}"])
        self.assertIn(f"TOPK_JIT_{compatible}", mapped().values())

    def test_has_no_search_path_of_the_build_machine(self):
        self.assertEqual(dynamic("RPATH") + dynamic("RUNPATH"), [])


class Static(unittest.TestCase):
    def test_has_no_global_names_but_the_declared_functions(self):
        names = [s[3] for s in symbols("--syms", STATIC) if s[0] != "LOCAL" and s[2] != "UND"]
        self.assertEqual(sorted(names), declared())

    def test_its_functions_are_not_exported_again_by_what_contains_them(self):
        for binding, visibility, section, name in symbols("--syms", STATIC):
            if binding != "LOCAL" and section != "UND":
                self.assertEqual(visibility, "HIDDEN", name)

    def test_wants_nothing_that_it_should_have_itself(self):
        for _, _, section, name in symbols("--syms", STATIC):
            if section == "UND":
                self.assertNotRegex(name, "^(tkj|topk_jit|XXH)")


if __name__ == "__main__":
    tally.main()
