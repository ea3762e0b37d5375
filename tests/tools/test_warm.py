#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""topk-jit-warm fills a cache: with the real NVRTC, without a driver and a GPU."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

import warm_command

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402


class Product(warm_command.WarmTest):
    def test_every_combination_is_built_once(self):
        result = self.result(
            "--arch sm_90a,sm_90 --topk 9004,9004,9008 --dtype float32,bfloat16",
            "--layout plain,paged --page-size 1,64",
        )
        self.follows("build", result)
        specs = {kernel["spec"] for kernel in result["kernels"]}
        self.assertEqual(len(specs), 2 * 2 * (1 + 2))
        self.assertEqual({kernel["target"] for kernel in result["kernels"]}, {"sm_90"})
        kernels = [(k["spec"], k["variant"]) for k in result["kernels"]]
        self.assertEqual(len(kernels), len(set(kernels)))
        self.assertEqual(result["summary"]["compiled"], len(kernels))

    def test_both_operations_take_what_applies_to_them(self):
        result = self.result(
            "--arch sm_90 --topk 9004 --operation select,fast_topk --dtype float32,float64",
            "--layout ragged --index-dtype int32",
        )
        specs = sorted({kernel["spec"] for kernel in result["kernels"]})
        self.assertEqual(len(specs), 3, specs)
        self.assertEqual(sum("operation=select" in spec for spec in specs), 1)
        self.assertEqual(sum("dtype=float64" in spec for spec in specs), 1)
        self.assertTrue(all("index=int64" in s for s in specs if "operation=fast_topk" in s))

    def test_each_architecture_has_its_own_entry(self):
        result = self.result("--arch sm_80,sm_90 --topk 9004")
        self.assertEqual({k["target"] for k in result["kernels"]}, {"sm_80", "sm_90"})
        self.assertEqual(result["summary"]["failed"], 0)


class Run(warm_command.WarmTest):
    def test_second_run_finds_everything(self):
        first = self.warm("--arch sm_90 --topk 9004,9008")
        before = self.entries()
        second = self.warm("--arch sm_90 --topk 9004,9008")
        self.assertEqual((first.returncode, second.returncode), (0, 0), second.stderr)
        self.assertRegex(first.stdout, r"^compiled 2, already there 0, failed 0 in [0-9.]+ s, \d+ ")
        self.assertRegex(second.stdout, r"^compiled 0, already there 2, failed 0 in [0-9.]+ s, \d+ ")
        self.assertEqual(self.entries(), before)

    def test_each_kernel_has_its_progress_line(self):
        done = self.warm("--arch sm_90 --topk 9004,9008")
        self.assertIn("[1/2] compiled topk_jit_", done.stderr)
        self.assertIn("[2/2] compiled topk_jit_", done.stderr)

    def test_json_describes_each_kernel(self):
        result = self.result("--arch sm_90 --topk 9004")
        kernel = result["kernels"][0]
        self.assertEqual(kernel["status"], "compiled")
        self.assertIn("topk=9004", kernel["spec"])
        self.assertIsNone(kernel["error"])
        sizes = sorted(len(data) for name, data in self.entries().items() if name.endswith(".tkc"))
        self.assertEqual(sizes, sorted(k["bytes"] for k in result["kernels"]))
        self.assertEqual(result["summary"]["bytes"], sum(sizes))

    def test_entries_are_the_same_bytes_in_every_cache_and_with_any_builders(self):
        product = "--arch sm_90 --topk 9004,9008 --dtype float32,float16"
        caches = [self.folder / "one", self.folder / "two"]
        for cache, jobs in zip(caches, ("1", "3")):
            done = self.warm(product, "-j", jobs, cache=cache)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.entries(caches[0]), self.entries(caches[1]))
        self.assertEqual(len([n for n in self.entries(caches[0]) if n.endswith(".tkc")]), 4)

    def test_runs_that_were_killed_and_interrupted_end_as_one_that_was_not(self):
        product = "--arch sm_90 --topk 9004,9008 --dtype float32,float16"
        command = [str(warm_command.BINARY), "--cache-dir", str(self.cache), *product.split()]
        for number, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
            run = subprocess.Popen(
                command + ["-j", "1"],
                env=self.own_environment(),
                preexec_fn=warm_command.heed_signals,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            while "] compiled" not in run.stderr.readline():
                pass
            run.send_signal(number)
            run.communicate()
            self.assertEqual(run.returncode, status)
        again = self.result(product)["summary"]
        self.assertGreaterEqual(again["already_there"], 2)
        self.assertEqual((again["kernels"], again["failed"]), (4, 0))
        self.warm(product, cache=self.folder / "other")
        whole = {name for name in self.entries() if name.endswith(".tkc")}
        other = self.entries(self.folder / "other")
        self.assertEqual(whole, {name for name in other if name.endswith(".tkc")})
        for name in whole:
            self.assertEqual(self.entries()[name], other[name])

    def test_relative_cache_directory(self):
        done = self.warm("--arch sm_90 --topk 9004", cache="below here")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotEqual(self.entries(self.folder / "below here"), {})

    def test_moved_templates_hit_and_changed_ones_miss(self):
        def templates(name):
            shutil.copytree(warm_command.TEMPLATES, self.folder / name)
            os.chmod(self.folder / name, 0o755)
            return self.folder / name

        one, two = templates("one"), templates("two")
        first = self.result("--arch sm_90 --topk 9004 --template-dir", [one])
        moved = self.result("--arch sm_90 --topk 9004 --template-dir", [two])
        with open(two / "window.cuh", "a", encoding="utf-8") as file:
            file.write("// another content\n")
        changed = self.result("--arch sm_90 --topk 9004 --template-dir", [two])
        states = [r["summary"]["compiled"] for r in (first, moved, changed)]
        self.assertEqual(states, [1, 0, 1])


class Failures(warm_command.WarmTest):
    def complaints(self, done):
        return [line for line in done.stderr.splitlines() if line.startswith("topk-jit-warm:")]

    def test_template_with_a_syntax_error_shows_the_compilers_log(self):
        broken = self.folder / "broken"
        shutil.copytree(warm_command.TEMPLATES, broken)
        with open(broken / "window.cuh", "a", encoding="utf-8") as file:
            file.write("int broken_here = ;\n")
        done = self.warm("--arch sm_90 --topk 9004,9008 --template-dir", [broken])
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed 2", done.stdout)
        self.assertEqual(len(self.complaints(done)), 2, "the log and the kernel, once each")
        self.assertIn("expected an expression", done.stderr)
        self.assertIn("window.cuh", done.stderr)
        self.assertEqual([n for n in self.entries() if n.endswith(".tkc")], [])

    def test_cache_below_a_file_is_one_line_that_names_it(self):
        (self.folder / "file").write_text("")
        cache = self.folder / "file" / "cache"
        done = self.warm("--arch sm_90 --topk 9004,9008", cache=cache)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(self.complaints(done)), 1, done.stderr)
        self.assertIn(str(cache), done.stderr)
        self.ended_early(done.stdout, 2)

    def test_failure_is_in_the_json(self):
        (self.folder / "file").write_text("")
        result = self.result("--arch sm_90 --topk 9004", cache=self.folder / "file" / "c", status=1)
        self.assertEqual(result["summary"]["failed"], 1)
        self.assertEqual(result["kernels"][0]["status"], "failed")
        self.assertTrue(result["kernels"][0]["error"])

    def test_full_stdout_is_a_failure(self):
        command = [str(warm_command.BINARY), "--arch", "sm_90", "--topk", "9004"]
        command += ["--cache-dir", str(self.cache)]
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("stdout", done.stderr)


if __name__ == "__main__":
    if not warm_command.has_nvrtc():
        tally.skip_all("no NVRTC on this machine")
    tally.main()
