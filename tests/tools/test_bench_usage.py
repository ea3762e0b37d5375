#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""topk-jit-bench without a GPU: explains launches, refuses wrong command lines, says what is
missing.

Usage: test_bench_usage.py TOPK_JIT_BENCH FAKE_LIBNVRTC DEADLY_LIBNVRTC
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
FAKE_NVRTC = pathlib.Path(sys.argv.pop(1)).resolve()
DEADLY_NVRTC = pathlib.Path(sys.argv.pop(1)).resolve()
STUB_CUDA = pathlib.Path(sys.argv.pop(1)).resolve()
GPUS = "T4 A100 L4 H100-PCIe H100-SXM H200 B200 RTX-5090 GB10".split()


class BenchTest(unittest.TestCase):
    def bench(self, *arguments, environment=None):
        """The finished process, on a machine whose libcuda is none. A string is split at blanks."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        pathlib.Path(folder.name, "libcuda.so.1").write_text("")
        command = [str(BINARY)]
        for argument in arguments:
            command += argument.split() if isinstance(argument, str) else argument
        return subprocess.run(
            command,
            env={**os.environ, "LD_LIBRARY_PATH": folder.name, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def refused(self, *arguments, naming):
        """The command ends with 2 and one line on stderr that has the words."""
        done = self.bench(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in naming:
            self.assertIn(word, done.stderr)


class Refusals(BenchTest):
    def test_word_that_is_none_of_a_list(self):
        for flag, word in [
            ("--rows", "0"),
            ("--width", "8k"),
            ("--length", "mixed:"),
            ("--mode", "warm"),
            ("--operation", "sort"),
            ("--layout", "heap"),
            ("--dtype", "float64"),
            ("--topk", "-1"),
            ("--distribution", "uniform"),
            ("--sorted", "yes"),
            ("--tie-break", "first"),
            ("--page-size", "48"),
            ("--sharing", "0"),
            ("--row-starts", "1"),
            ("--max-sms", "all"),
            ("--held-sm", "2"),
        ]:
            self.refused(f"{flag} {word}", naming=[flag, f"'{word}'"])

    def test_word_that_is_missing_in_a_list(self):
        self.refused("--rows 1,,2", naming=["--rows", "''"])

    def test_lists_that_make_no_case(self):
        self.refused("--width 8 --length 9", naming=["length"])
        self.refused("--operation fast_topk --width 100 --topk 101", naming=["topk"])

    def test_too_few_replays_or_calls_for_a_median(self):
        self.refused("--replays 10", naming=["--replays", "'10'"])
        self.refused("--calls 9", naming=["--calls", "'9'"])
        self.refused("--runs 0", naming=["--runs", "'0'"])

    def test_unknown_set(self):
        self.refused("--set all", naming=["'all'", "must", "standard", "rules"])

    def test_set_with_other_shapes(self):
        self.refused("--set must --rows 4", naming=["--set must", "--only"])
        self.refused("--set rules --dtype float16", naming=["--set rules"])

    def test_text_that_no_case_has(self):
        self.refused(["--set", "must", "--only", "B=7 "], naming=["--only", "'B=7 '"])

    def test_facts_without_explain(self):
        self.refused("--device-facts H200", naming=["--explain"])

    def test_cache_with_anything_else(self):
        self.refused("--cache --set must", naming=["--cache", "--json"])
        self.refused("--cache --rows 1", naming=["--cache", "--json"])

    def test_argument_that_is_no_option(self):
        self.refused("must", naming=["'must'"])


class Explain(BenchTest):
    def explain(self, *arguments):
        done = self.bench("--explain", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_each_known_gpu_and_each_cell_has_a_line(self):
        text = self.explain("--set must --device-facts all")
        for gpu in GPUS:
            self.assertRegex(text, rf"(?m)^{gpu}: sm_\d+, \d+ SMs")
        self.assertEqual(text.count("B=4096 L=65536 cold"), len(GPUS))
        self.assertNotIn("not supported", text)

    def test_launch_is_told_with_grid_and_threads(self):
        line = self.explain("--rows 3 --width 9000 --topk 7 --device-facts T4").splitlines()[-1]
        self.assertRegex(line, r"^\w+ +[1-9]\d* +\d+ +\d+  B=3 L=9000 hot k=7$")

    def test_both_launches_of_a_split_are_told(self):
        text = self.explain("--rows 2 --width 131072 --device-facts A100,T4")
        self.assertRegex(text, r"(?m)^split +32\+2 +512 +\d+  B=2 L=131072 hot$")
        self.assertRegex(text, r"(?m)^general +2 +512 +\d+  B=2 L=131072 hot$")

    def test_lists_go_over_a_set(self):
        text = self.explain(
            ["--set", "must", "--only", "B=8 "], "--dtype float32,bfloat16 --device-facts h200"
        )
        self.assertEqual(text.count("B=8 "), 8)
        self.assertEqual(text.count("bfloat16"), 4)

    def test_every_case_of_the_rules_has_a_launch(self):
        text = self.explain("--set rules --device-facts H200")
        self.assertGreater(len(text.splitlines()), 500)
        self.assertNotIn("not supported", text)

    def test_unknown_gpu(self):
        done = self.bench("--explain --device-facts V100")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'V100'", done.stderr)


class Cache(BenchTest):
    MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # ten thousand entries

    def costs(self, nvrtc):
        """The finished process, and its figures by their names."""
        with tempfile.TemporaryDirectory(dir=self.MEMORY) as folder:
            path = pathlib.Path(folder, "cache.json")
            places = {"TOPK_JIT_NVRTC": str(nvrtc), "TMPDIR": folder}
            done = self.bench("--cache --json", [str(path)], environment=places)
            self.assertEqual(done.returncode, 0, done.stderr)
            costs = {cost["name"]: cost for cost in json.loads(path.read_text())["costs"]}
            self.assertEqual([entry.name for entry in pathlib.Path(folder).iterdir()], [path.name])
        return done, costs

    def test_cold_processes_compile_each_kernel_once(self):
        done, costs = self.costs(FAKE_NVRTC)
        self.assertEqual(done.stderr, "")
        self.assertGreater(costs["cold.one.compiles"]["median"], 0)
        self.assertEqual(
            costs["cold.sixteen.compiles"]["median"], costs["cold.one.compiles"]["median"]
        )

    def test_cold_process_that_dies_ends_the_wait_for_it(self):
        done, costs = self.costs(DEADLY_NVRTC)
        self.assertRegex(done.stderr, r"\A.*cold processes are left out: .*signal 9.*\n\Z")
        self.assertNotIn("cold.one", costs)

    def test_every_cost_is_told_to_people_and_programs(self):
        """Without NVRTC, which leaves out the cold processes, and says why."""
        done, costs = self.costs("/nonexistent")
        self.assertRegex(done.stderr, r"\A.*cold processes are left out: .*/nonexistent.*\n\Z")
        self.assertNotIn("cold.one", costs)
        for name in ["hit", "hit.read", "hit.pack", "hit.held", "look_up", "store", "many.hit"]:
            self.assertGreater(costs[name]["least"], 0)
            self.assertLessEqual(costs[name]["least"], costs[name]["median"])
            self.assertLessEqual(costs[name]["median"], costs[name]["most"])
            self.assertIn(costs[name]["text"].strip(), done.stdout)
        self.assertGreater(costs["many.evicted"]["median"], 10000 / 8)


class Host(BenchTest):
    """On a libcuda that does nothing, so that what is measured is there and adds up."""

    CALLS = ["select", "fast_topk_v2", "transform_fused", "transform_ragged_fused", "fast_topk"]

    def test_every_call_and_start_is_told_to_people_and_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "host.json")
            places = {
                "LD_LIBRARY_PATH": str(STUB_CUDA.parent),
                "TOPK_JIT_NVRTC": str(FAKE_NVRTC),
                "TOPK_JIT_CACHE_DIR": str(pathlib.Path(folder, "cache")),
            }
            done = self.bench("--host --json", [str(path)], environment=places)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            costs = {cost["name"]: cost for cost in json.loads(path.read_text())["costs"]}
        for name in ["launch", *self.CALLS, "start.spec", "start.model"]:
            self.assertGreater(costs[name]["least"], 0)
            self.assertIn(costs[name]["text"].strip(), done.stdout)
        for name in self.CALLS:
            self.assertIn(f"{name}.over_launch", costs)
        self.assertGreater(
            costs["start.model.kernels"]["median"], costs["start.spec.kernels"]["median"]
        )

    def test_without_a_gpu_there_is_nothing_to_measure(self):
        done = self.bench("--host")
        self.assertEqual((done.returncode, done.stdout), (3, ""))


class NoGpu(BenchTest):
    def test_nothing_to_measure_on_has_its_own_exit_status(self):
        done = self.bench("--rows 1")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("libcuda", done.stderr)

    def test_nothing_to_explain_for(self):
        done = self.bench("--explain")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("--device-facts", done.stderr)


class Manual(BenchTest):
    def test_help_names_the_flags_and_all_words(self):
        done = self.bench("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for text in ("--set", "--quick", "--held-sm", "Exit status", "far-below", "GB10"):
            self.assertIn(text, done.stdout)

    def test_version(self):
        self.assertRegex(self.bench("--version").stdout, r"^topk-jit-bench \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    tally.main()
