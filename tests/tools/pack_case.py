# SPDX-License-Identifier: Apache-2.0
"""A cache of kernels of the fake NVRTC, and topk-jit-warm pack and unpack run on it."""
import json
import os
import pathlib
import subprocess
import sys

import warm_command

FAKE_NVRTC = pathlib.Path(sys.argv.pop(1)).resolve()
HANG_SECONDS = 120
SPEC = "operation=select,layout=plain,topk={},dtype=float32,index=int32"


class PackTest(warm_command.WarmTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "kernels.tkp"

    def start(self, *arguments, environment=None, **options):
        return subprocess.Popen(
            [str(warm_command.BINARY), *map(str, arguments)],
            cwd=self.folder,
            env={**warm_command.clean_environment(), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def run_it(self, *arguments, **options):
        """The finished process: its status, stdout and stderr."""
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=HANG_SECONDS)
        return process.returncode, out, err

    def build(self, topk="9001,9002,9003", arch="sm_80,sm_90", cache=None, options=()):
        flags = ["--arch", arch, "--topk", topk, "--nvrtc", FAKE_NVRTC, *options]
        self.must("--cache-dir", cache or self.cache, *flags)

    def must(self, *arguments, **options):
        code, out, err = self.run_it(*arguments, **options)
        self.assertEqual(code, 0, err)
        return out

    def object(self, command, *arguments, cache=None, **options):
        """What --json says, which follows the command's schema; nothing is complained of."""
        code, out, err = self.run_it(
            command, *arguments, "--json", "--cache-dir", cache or self.cache, **options
        )
        self.assertEqual((code, err), (0, ""))
        self.follows(command, json.loads(out))
        return json.loads(out)

    def pack(self, *arguments, out=None, **options):
        return self.object("pack", out or self.out, *arguments, **options)

    def unpack(self, *arguments, **options):
        return self.object("unpack", *(arguments or [self.out]), **options)

    def fails(self, command, *arguments, status=1, naming=(), cache=None, **options):
        """Nothing on stdout, and these words on stderr, each line of it one of the program's."""
        code, out, err = self.run_it(
            command, *arguments, "--cache-dir", cache or self.cache, **options
        )
        self.assertEqual((code, out), (status, ""), err)
        self.assertRegex(err, r"\A(topk-jit-warm: [^\n]*\n)+\Z")
        for word in naming:
            self.assertIn(str(word), err)
        return err

    def entry_files(self, cache=None):
        return sorted((cache or self.cache).glob("v1/*/*.tkc"))

    def left_behind(self):
        """Files of commands that did not end well."""
        return list(self.folder.glob(".topk-jit-new-*"))


def as_nobody():
    """For preexec_fn: where root runs the tests, permissions stop nobody but others."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
