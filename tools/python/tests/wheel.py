#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wheel that pip builds serves a user who has neither a compiler nor the source.

wheel.py: needs pip and, on the path, scikit-build-core and NumPy; nothing is downloaded.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import tally  # noqa: E402

OFFLINE = ["--disable-pip-version-check", "--no-index", "--no-deps"]
CALL = """
import pathlib, numpy, topk_jit
score = numpy.array([[3, 1, 2]], "float32")
print(topk_jit.version(), topk_jit.fast_topk_v2(score, None, 2, sorted=True).tolist())
print(pathlib.Path(topk_jit.__file__).parent)
print(topk_jit.explain(topk_jit.Spec(), "sm_90"))
"""


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=500, **options,
    )
    if done.returncode != 0:
        raise AssertionError(f"{command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def pip(*arguments):
    return run(sys.executable, "-m", "pip", *arguments)


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        # a user's pack: any file does, since nobody reads it here
        pack = cls.folder / "model.tkp"
        pack.touch()
        pip("wheel", *OFFLINE, "--no-build-isolation", "--wheel-dir", cls.folder,
            "-C", f"cmake.define.TOPK_JIT_PYTHON_PACKS={pack}", ROOT / "tools" / "python")
        (cls.wheel,) = cls.folder.glob("*.whl")

    def names(self):
        return zipfile.ZipFile(self.wheel).namelist()

    def test_one_wheel_serves_every_python(self):
        self.assertRegex(self.wheel.name, r"^topk_jit-[\d.]+-cp310-abi3-linux_\w+[.]whl$")

    def test_it_has_library_templates_packs_and_types(self):
        for name in ("_native.abi3.so", "lib/libtopk_jit.so.0.1", "py.typed", "_native.pyi",
                     "compat/sglang.py", "compat/vllm.py",
                     "share/topk_jit/cache/model.tkp",
                     "share/topk_jit/kernel_templates/select_whole.cu"):
            self.assertIn(f"topk_jit/{name}", self.names())

    def test_it_has_nothing_else(self):
        places = {name.split("/")[0] for name in self.names()}
        self.assertEqual(places, {"topk_jit", self.wheel.name.split("-cp")[0] + ".dist-info"})
        extra = [n for n in self.names() if n.endswith((".a", ".h.in", ".c", ".cmake", ".pc"))]
        self.assertEqual(extra, [])

    def test_it_serves_without_compiler_or_source(self):
        site = self.folder / "site"
        pip("install", *OFFLINE, "--target", site, self.wheel)
        numpy_folder = pathlib.Path(numpy.__file__).parents[1]
        environment = {"PYTHONPATH": f"{site}:{numpy_folder}", "PATH": "/nonexistent",
                       "HOME": str(self.folder)}
        version, place, *rest = run(sys.executable, "-c", CALL, env=environment,
                                    cwd=self.folder).splitlines()
        self.assertEqual(version, "0.1.0 [[0, 2]]")
        self.assertEqual(place, str(site / "topk_jit"))
        self.assertTrue(any("kernel topk_jit_" in line for line in rest))


if __name__ == "__main__":
    tally.main()
