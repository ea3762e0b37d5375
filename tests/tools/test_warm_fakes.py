#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""topk-jit-warm on machines that this one is not: with GPUs, with none, with many builders.

Usage: test_warm_fakes.py TOPK_JIT_WARM FAKE_LIBNVRTC FAKE_LIBCUDA
"""
import pathlib
import sys
import unittest

import warm_command

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

FAKE_NVRTC = pathlib.Path(sys.argv.pop(1)).resolve()
FAKE_CUDA = pathlib.Path(sys.argv.pop(1)).resolve().parent


class Native(warm_command.WarmTest):
    def test_each_architecture_present_is_warmed_for(self):
        result = self.result(
            "--arch native --topk 9004 --nvrtc",
            [FAKE_NVRTC],
            environment={"LD_LIBRARY_PATH": str(FAKE_CUDA)},
        )
        self.assertEqual({k["target"] for k in result["kernels"]}, {"sm_80", "sm_90"})

    def test_named_architecture_that_is_also_present_is_built_once(self):
        result = self.result(
            "--arch sm_90,native --topk 9004 --nvrtc",
            [FAKE_NVRTC],
            environment={"LD_LIBRARY_PATH": str(FAKE_CUDA)},
        )
        self.assertEqual(sorted(k["target"] for k in result["kernels"]), ["sm_80", "sm_90"])

    def test_no_driver_has_its_own_exit_status(self):
        (self.folder / "libcuda.so.1").write_text("")  # found first, and no library
        done = self.warm(
            "--arch native --topk 9004 --nvrtc",
            [FAKE_NVRTC],
            environment={"LD_LIBRARY_PATH": str(self.folder)},
        )
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertRegex(done.stderr, r"^topk-jit-warm: --arch native: no GPU.*\n$")
        self.assertFalse(self.cache.exists())


class Builders(warm_command.WarmTest):
    PRODUCT = "--arch sm_80,sm_90 --topk 9001,9002,9003,9004,9005,9006,9007,9008 --layout plain,ragged"

    def test_many_builders_build_what_one_builds(self):
        caches = [self.folder / "one", self.folder / "many"]
        for cache, jobs in zip(caches, ("1", "8")):
            result = self.result(self.PRODUCT, "-j", jobs, "--nvrtc", [FAKE_NVRTC], cache=cache)
            self.assertEqual(result["summary"]["compiled"], 32)
        self.assertEqual(self.entries(caches[0]), self.entries(caches[1]))

    def test_one_cause_of_every_failure_is_said_once(self):
        missing = self.folder / "missing"
        done = self.warm(
            self.PRODUCT, "-j 8 --nvrtc", [FAKE_NVRTC], "--template-dir", [missing]
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.ended_early(done.stdout, 32)
        said = [line for line in done.stderr.splitlines() if line.startswith("topk-jit-warm:")]
        self.assertEqual(len(said), 1, done.stderr)
        self.assertEqual(self.entries(), {})


if __name__ == "__main__":
    tally.main()
