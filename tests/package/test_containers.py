#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README's container recipe does what it says: its instructions are carried out.

test_containers.py BUILD FAKE_CUDA FAKE_NVRTC: two directories stand for the two stages. What BUILD
has built stands for the compilation of the library, the fake NVRTC for the toolkit, and a program
on a fake GPU for the server; the model's k is such that a spec has one kernel.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import tally  # noqa: E402

BUILD, FAKE_CUDA, FAKE_NVRTC = map(pathlib.Path, sys.argv[1:4])
del sys.argv[1:4]

TOPK = "9001"
COMPILES = re.compile(r"tools/setup && .*cmake --preset release && cmake --build --preset release")


def recipe():
    """(instruction, text) of each line of the README's Dockerfile, continued lines joined."""
    text = (ROOT / "README.md").read_text()
    section = text.partition("\n## Containers\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```dockerfile\n(.*?)```", section, re.DOTALL)
    lines = block.replace("\\\n", " ").splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line and not line.startswith("#")]


def cached(name):
    text = (BUILD / "CMakeCache.txt").read_text()
    return re.search(rf"^{name}:\w+=(.*)$", text, re.MULTILINE).group(1)


def must(*command, env):
    done = subprocess.run(
        [str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=300, env={"PATH": os.environ["PATH"], **env},
    )
    if done.returncode != 0:
        raise AssertionError(f"{command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


class Containers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="topk-jit-containers-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.stages = []
        cls.names = {}
        cls.said = ""
        cls.environment = {}
        for instruction, text in recipe():
            getattr(cls, f"carry_out_{instruction.lower()}")(text)
        (cls.folder / "home").mkdir()

    @classmethod
    def carry_out_from(cls, text):
        _, _, name = text.partition(" AS ")
        stage = cls.folder / f"stage{len(cls.stages)}"
        (stage / "tmp").mkdir(parents=True)
        cls.stages.append(stage)
        cls.names[name] = stage

    @classmethod
    def carry_out_workdir(cls, text):
        """That of the build stage is the source tree, whose build BUILD is."""
        assert text == "/src", text

    @classmethod
    def carry_out_env(cls, text):
        assert len(cls.stages) == 2, "the build stage needs no settings"
        cls.environment.update([text.split("=", 1)])

    @classmethod
    def carry_out_copy(cls, text):
        if text == "topk-jit /src":
            return
        if text == "config.json /model/config.json":
            model = cls.stages[-1] / "model"
            model.mkdir()
            (model / "config.json").write_text(json.dumps({"index_topk": int(TOPK)}))
            return
        stage, source, target = re.fullmatch(r"--from=(\w+) (/\S+) (/\S+)", text).groups()
        target = cls.stages[-1] / target[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(cls.names[stage] / source[1:], target, symlinks=True)

    @classmethod
    def carry_out_run(cls, text):
        assert len(cls.stages) == 1, "the run stage has nothing to run"
        if COMPILES.fullmatch(text):
            return
        stage = cls.stages[0]
        text = text.replace(". build/cuda.env && ", "")  # the toolkit is the fake
        text = re.sub(r"(^|\s)/(opt|tmp|model)/", rf"\1{stage}/\2/", text)
        text = text.replace("build/release", shlex.quote(str(BUILD)))
        cls.said += must("sh", "-ec", text, env={"TOPK_JIT_NVRTC": str(FAKE_NVRTC)})

    def serve(self, capability, topk=TOPK, **environment):
        """What a server says that is started in the run stage, where there is no compiler."""
        prefix = self.stages[1] / "opt" / "topk-jit"
        program = self.folder / "offline"
        if not program.exists():
            include = [self.stages[0] / "opt/topk-jit/include", ROOT / "tests" / "support"]
            include += [cached("TOPK_JIT_DLPACK_INCLUDE")]
            must(cached("CMAKE_C_COMPILER"), ROOT / "tests" / "package" / "offline.c",
                 "-o", program, *[f"-I{folder}" for folder in include], f"-L{prefix / 'lib'}",
                 "-ltopk_jit", "-pthread", "-ldl", env={})
        return must("env", "-i",
                    f"LD_LIBRARY_PATH={FAKE_CUDA.parent}:{prefix / 'lib'}",
                    f"HOME={self.folder / 'home'}",
                    f"TOPK_JIT_NVRTC={self.folder / 'no libnvrtc'}",
                    *[f"{k}={v}" for k, v in {**self.environment, **environment}.items()],
                    program, capability, topk, env={})

    def test_recipe_packs_each_spec_for_both_architectures(self):
        self.assertRegex(self.said, r"packed 6 entries, ")
        (pack,) = (self.stages[1] / "opt/topk-jit/share/topk_jit/cache").iterdir()
        self.assertEqual(stat.S_IMODE(pack.stat().st_mode), 0o644)

    def test_server_prepares_both_architectures_without_a_compiler(self):
        for capability in ("90", "100"):
            self.assertEqual(self.serve(capability), "OK, 3 from packs, 0 compiled\n")
        self.assertEqual(list((self.folder / "home").iterdir()), [], "something was written")

    def test_without_the_pack_it_would_not(self):
        """So that the test above says something."""
        cache = self.stages[1] / "opt/topk-jit/share/topk_jit/cache"
        aside = self.folder / "aside"
        cache.rename(aside)
        self.addCleanup(aside.rename, cache)
        self.assertIn("OFFLINE_MISS, 0 from packs, 0 compiled\n", self.serve("90"))
        self.assertIn("OK, 3 from packs", self.serve("90", TOPK_JIT_RO_DIRS=str(aside)))

    def test_spec_that_is_not_in_the_pack_is_told_with_the_command_that_builds_it(self):
        said = self.serve("90", "9002")
        self.assertRegex(said, r"\AOFFLINE_MISS, 0 from packs, 0 compiled\n")
        command = "topk-jit-warm --arch sm_90 --operation select --layout paged --topk 9002"
        self.assertIn(command, said)

    def test_gpu_that_is_not_in_the_pack(self):
        self.assertRegex(self.serve("120"), r"\AOFFLINE_MISS,.*\n.*topk-jit-warm --arch sm_120 ")


if __name__ == "__main__":
    tally.main()
