# SPDX-License-Identifier: Apache-2.0
"""Runs topk-jit-warm with a cache of its own, as every test of the command does.

The tests take k from 9001 on: beyond what any but the general variant serves, so that a spec is one
kernel and counts say what they say.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's, whichever Python this is
import fastjsonschema  # noqa: E402

BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
TEMPLATES = pathlib.Path(__file__).parents[2] / "kernel_templates"
SCHEMAS = pathlib.Path(__file__).parent / "schemas"
TIMEOUT_SECONDS = 300


class WarmTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="warm test ")  # a path with spaces
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cache = self.folder / "cache"

    def warm(self, *arguments, cache=None, environment=None, **options):
        """The finished process. A list argument is split at blanks; options are of subprocess.run."""
        command = [str(BINARY), "--cache-dir", str(cache or self.cache)]
        for argument in arguments:
            command += argument.split() if isinstance(argument, str) else [str(argument[0])]
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.own_environment(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            **options,
        )

    def own_environment(self, more=None):
        """Locks are the test's own: the same kernels of a test beside it are not waited for."""
        own = {"XDG_RUNTIME_DIR": str(self.folder)}
        return {**clean_environment(), **own, **(more or {})}

    def refused(self, *arguments, naming, **options):
        """The command ends with 2, one line on stderr that has the words, nothing else."""
        done = self.warm(*arguments, **options)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in naming:
            self.assertIn(word, done.stderr)
        self.assertFalse(self.cache.exists(), "something was written")

    def result(self, *arguments, status=0, **options):
        """What --json says."""
        done = self.warm("--json", *arguments, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def follows(self, schema, said):
        """What a command says to programs is as schemas/SCHEMA.json has it."""
        fastjsonschema.validate(json.loads((SCHEMAS / f"{schema}.json").read_text()), said)

    def ended_early(self, line, count):
        """Of so many kernels at least one failed, and nobody came to the others."""
        found = re.search(r"failed (\d+)(?:, not tried (\d+))?", line)
        failed, not_tried = int(found.group(1)), int(found.group(2) or 0)
        self.assertGreater(failed, 0, line)
        self.assertEqual(failed + not_tried, count, line)

    def entries(self, cache=None):
        """Every file of a cache, by its name below the root."""
        cache = cache or self.cache
        return {
            str(path.relative_to(cache)): path.read_bytes()
            for path in sorted(cache.rglob("*"))
            if path.is_file()
        }


def heed_signals():
    """In a child: what runs in the background of a shell ignores SIGINT, and so would a command
    that a test interrupts."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def clean_environment():
    """Nothing of the caller's settings decides a test, except where NVRTC is."""
    kept = ("PATH", "HOME", "CUDA_HOME", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS")
    return {name: os.environ[name] for name in kept if name in os.environ}


def has_nvrtc():
    """A file that looks like one: a failure to load it must fail the tests, not skip them."""
    homes = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    folders = [pathlib.Path(home) / lib for home in homes if home for lib in ("lib64", "lib")]
    return any(list(folder.glob("libnvrtc.so*")) for folder in folders)
