# SPDX-License-Identifier: Apache-2.0
"""A cache of a few kernels of the fake compiler, and the commands that look at it."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import warm_command

FAKE_NVRTC = pathlib.Path(sys.argv.pop(1)).resolve()
CORPUS = pathlib.Path(__file__).resolve().parents[1] / "fuzz" / "corpus"
HANG_SECONDS = 60
HOUR = 3600


class StoreTest(warm_command.WarmTest):
    def build(self, arguments="--arch sm_80,sm_90 --topk 9001,9002", cache=None):
        """Four kernels, unless other ones are asked for."""
        result = self.result(arguments, "--nvrtc", [FAKE_NVRTC], cache=cache)
        self.assertEqual(result["summary"]["failed"], 0)
        return self.files(cache)

    def files(self, cache=None):
        """The files of entries, in the order of their names."""
        return sorted((cache or self.cache).glob("v1/*/*.tkc"))

    def run_it(self, *arguments, environment=None, **options):
        """A command as it is, each argument one word; nothing is known of its cache."""
        settings = {
            "cwd": self.folder,
            "env": {**warm_command.clean_environment(), **(environment or {})},
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
            "timeout": HANG_SECONDS,
        }
        command = [str(warm_command.BINARY), *map(str, arguments)]
        return subprocess.run(command, **{**settings, **options})

    def says(self, command, *arguments, status=0, **options):
        """What a command prints of self.cache. It says nothing on stderr."""
        done = self.run_it(command, "--cache-dir", self.cache, *arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
        return done.stdout

    def object(self, command, *arguments, status=0, **options):
        """What it says with --json, which is as its schema has it."""
        found = json.loads(self.says(command, "--json", *arguments, status=status, **options))
        self.follows(command, found)
        return found

    def fails(self, command, *arguments, status=1, naming=(), **options):
        """It ends with the status, and one line that has the words."""
        done = self.run_it(command, "--cache-dir", self.cache, *arguments, **options)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Atopk-jit-warm: [^\n]*\n\Z")
        for word in naming:
            self.assertIn(str(word), done.stderr)

    def age(self, path, seconds):
        then = time.time() - seconds
        os.utime(path, (then, then), follow_symlinks=False)

    def damage(self, path):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)

    def read_only(self, *names):
        """TOPK_JIT_RO_DIRS of places in the folder."""
        return {"TOPK_JIT_RO_DIRS": ":".join(str(self.folder / name) for name in names)}

    def add_pack(self, directory="image", name="kernels.tkp", of="sound-three"):
        path = self.folder / directory / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(CORPUS / "pack" / of, path)
        path.chmod(0o600)
        return path


def key_of(path):
    return path.parent.name + path.name.split(".")[0]
