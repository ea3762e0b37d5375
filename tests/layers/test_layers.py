#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each room of the library includes only the rooms below it.

A room is a set of files that may include one another. The leaves do not know each other, so each
of them can be tested, faked and replaced alone.
"""
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]

# room: its files without suffix (a final * is any rest), the rooms and files that it may include
BASE = ["base"]
PURE = BASE + ["params", "pure"]
LEAVES = ["cache", "nvrtc", "driver", "host"]
ROOMS = {
    "base": (
        ["status", "memory", "text", "line", "abi", "log", "os", "os_file", "config", "config_values"]
        + ["suggest", "device", "source", "digest", "flight", "worker", "installed"],
        BASE,
    ),
    "params": (["params"], []),
    "templates": (["kernel_templates/*"], ["params"]),
    "pure": (
        ["ordered_key", "spec", "target", "tensor", "problem*", "variant*", "template", "prelude"]
        + ["key", "check_counts"],
        PURE,
    ),
    "cache": (["cache/*"], BASE),
    "nvrtc": (["nvrtc*", "ptxas_log"], BASE),
    "driver": (["driver*"], BASE),
    "host": (["host*"], BASE + ["params", "ordered_key"]),
    "kernel_map": (["kernel_map"], PURE + ["driver"]),
    "context": (["context"], PURE + LEAVES + ["kernel_map"]),
    "plan": (["plan*"], PURE + LEAVES + ["kernel_map", "context"]),
    "api": (["api*"], PURE + LEAVES + ["kernel_map", "context", "plan"]),
}

# headers of others, and the only room that may include them
FOREIGN = {
    "cuda.h": "driver",
    "cudaTypedefs.h": "driver",
    "nvrtc.h": "nvrtc",
    "xxhash.h": "base",
}
FORBIDDEN = ["jansson.h", "cmocka.h", "cuda_runtime.h", "cuda_runtime_api.h"]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
FOLDERS = ["src", "cache", "kernel_templates"]
SUFFIXES = [".c", ".h", ".cu", ".cuh"]


def matches(pattern, path):
    """`cache/*` is a folder of the tree, `host*` a stem in src."""
    if "/" in pattern:
        return path.parts[0] == pattern.split("/")[0]
    stem = path.stem
    return stem.startswith(pattern[:-1]) if pattern.endswith("*") else stem == pattern


def room_of(path):
    """The room of a file, given relative to the tree; None = it was not given one."""
    if path == pathlib.PurePath("kernel_templates/params.h"):
        return "params"
    for room, (patterns, _) in ROOMS.items():
        for pattern in patterns:
            if ("/" in pattern) == (path.parts[0] != "src") and matches(pattern, path):
                return room
    return None


def may_include(room, path):
    target = room_of(path)
    allowed = ROOMS[room][1]
    return target == room or target in allowed or path.stem in allowed


def find(root, includer, name):
    for folder in [includer.parent, *map(pathlib.PurePath, FOLDERS)]:
        if (root / folder / name).is_file():
            return folder / name
    return None


def foreign_violation(room, name):
    if name in FORBIDDEN or FOREIGN.get(name, room) != room:
        return f"only {FOREIGN.get(name, 'tools and tests')} may include <{name}>"
    if room == "templates" or (room == "params" and name != "stdint.h"):  # the host's side of it
        return f"templates include no header of others, such as <{name}>"
    return None


def violations_of(root, path):
    room = room_of(path)
    if room is None:
        yield f"{path}: belongs to no room; give it one here"
        return
    for quote, name in INCLUDE.findall((root / path).read_text()):
        problem = None
        target = find(root, path, name) if quote == '"' else None
        if target is None:
            problem = foreign_violation(room, name)
        elif room_of(target) is not None and not may_include(room, target):
            problem = f"{room} may not include {room_of(target)} ({name})"
        if problem is not None:
            yield f"{path}: {problem}"


def violations(root):
    files = [
        path.relative_to(root)
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in SUFFIXES
    ]
    return [text for path in files for text in violations_of(root, path)]


class Tree(unittest.TestCase):
    def test_each_layer_includes_only_layers_below_it(self):
        self.assertEqual(violations(ROOT), [])

    def test_the_tree_was_found(self):
        for folder in FOLDERS:
            self.assertTrue((ROOT / folder).is_dir())


class Rules(unittest.TestCase):
    """The check finds what it is there for."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        headers = ["src/status.h", "src/spec.h", "src/driver.h", "src/plan.h", "src/context.h"]
        headers += ["src/ordered_key.h", "cache/cache.h", "kernel_templates/params.h"]
        for name in headers:
            self.write(name, "")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def found(self, name, include):
        self.write(name, f"#include {include}\n")
        return violations(self.root)

    def test_a_layer_may_include_what_is_below_it(self):
        for name, include in [
            ("src/plan.c", '"context.h"'),
            ("src/spec.c", '"status.h"'),
            ("src/host_select.c", '"ordered_key.h"'),
            ("src/variants.c", '"params.h"'),
            ("cache/root.c", '"cache.h"'),
            ("src/driver_api.h", "<cuda.h>"),
            ("src/nvrtc_api.h", "<nvrtc.h>"),
        ]:
            self.assertEqual(self.found(name, include), [], name)

    def test_base_may_not_include_the_middle(self):
        self.assertNotEqual(self.found("src/os.c", '"spec.h"'), [])

    def test_middle_may_not_include_a_leaf(self):
        self.assertNotEqual(self.found("src/variants.c", '"driver.h"'), [])

    def test_leaves_do_not_know_each_other(self):
        self.assertNotEqual(self.found("cache/root.c", '"driver.h"'), [])

    def test_leaf_may_not_include_the_middle(self):
        self.assertNotEqual(self.found("src/driver.c", '"spec.h"'), [])

    def test_host_may_not_include_more_of_the_middle_than_ordered_key(self):
        self.assertNotEqual(self.found("src/host_select.c", '"spec.h"'), [])

    def test_context_may_not_include_plan(self):
        self.assertNotEqual(self.found("src/context.c", '"plan.h"'), [])

    def test_cuda_belongs_to_the_driver(self):
        self.assertNotEqual(self.found("src/plan.c", "<cuda.h>"), [])

    def test_nvrtc_of_the_toolkit_belongs_to_nvrtc(self):
        self.assertNotEqual(self.found("src/plan.c", "<nvrtc.h>"), [])

    def test_library_includes_no_json(self):
        self.assertNotEqual(self.found("src/plan.c", "<jansson.h>"), [])

    def test_template_includes_templates_only(self):
        self.assertNotEqual(self.found("kernel_templates/a.cu", "<stdint.h>"), [])
        self.assertNotEqual(self.found("kernel_templates/a.cu", '"spec.h"'), [])

    def test_file_without_a_room_is_found(self):
        self.assertNotEqual(self.found("src/novelty.c", '"status.h"'), [])


if __name__ == "__main__":
    tally.main()
