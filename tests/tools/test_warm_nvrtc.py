#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""topk-jit-warm takes the libnvrtc that it is told to take, and says what is wrong with it.

Usage: test_warm_nvrtc.py TOPK_JIT_WARM FAKE_LIBNVRTC
"""
import os
import pathlib
import shutil
import socket
import sys
import unittest

import store_case

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

BUILD = "build --arch sm_90 --topk 9001"


class Nvrtc(store_case.StoreTest):
    def warm(self, line, *more, **options):
        """Words of a command line, and such as may have blanks."""
        command, *words = line.split()
        return self.run_it(command, "--cache-dir", self.cache, *words, *more, **options)

    def make_a_copy(self, name):
        shutil.copy(store_case.FAKE_NVRTC, self.folder / name)

    def is_refused(self, done, *words):
        self.assertEqual(done.returncode, 1, done.stderr)
        line = next(l for l in done.stderr.splitlines() if l.startswith("topk-jit-warm:"))
        for word in words:
            self.assertIn(word, line)
        self.assertNotIn("nvrtc_path", done.stderr)


class FileOfTheOption(Nvrtc):
    def test_bare_name_is_a_file_here(self):
        self.make_a_copy("own.so")
        done = self.warm(f"{BUILD} --nvrtc own.so")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_name_that_the_loader_knows_is_no_file_here(self):
        done = self.warm(f"{BUILD} --nvrtc libm.so.6")
        self.is_refused(done, f"'{self.folder}/libm.so.6', set by --nvrtc,", "No such file")

    def test_dump_takes_it_so_too(self):
        self.make_a_copy("own.so")
        self.assertEqual(self.warm(f"{BUILD} --nvrtc own.so").returncode, 0)
        key = store_case.key_of(self.files()[0])
        done = self.warm(f"dump {key} --ptx --nvrtc own.so")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.is_refused(self.warm(f"dump {key} --ptx --nvrtc other.so"),
                        f"'{self.folder}/other.so', set by --nvrtc,")

    def test_file_that_is_no_library_is_named_with_the_option(self):
        (self.folder / "text.so").write_text("no library")
        self.is_refused(self.warm(f"{BUILD} --nvrtc text.so"), "set by --nvrtc, cannot be loaded")

    def test_library_that_is_no_nvrtc_is_named_with_the_option(self):
        library = next(pathlib.Path(l.split()[-1]) for l in open("/proc/self/maps") if "libc.so" in l)
        self.is_refused(self.warm(f"{BUILD} --nvrtc", library), "set by --nvrtc, cannot be used")


class NoRegularFile(Nvrtc):
    """Each would make the loader wait for ever, or say something that is hard to understand."""

    def setUp(self):
        super().setUp()
        os.mkfifo(self.folder / "fifo")
        (self.folder / "directory").mkdir()
        (self.folder / "device").symlink_to("/dev/zero")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.folder / "socket"))

    KINDS = ("fifo", "directory", "device", "socket")

    def test_of_the_option(self):
        for kind in self.KINDS:
            with self.subTest(kind):
                done = self.warm(f"{BUILD} --nvrtc {kind}")
                self.is_refused(done, f"{kind}', set by --nvrtc,", "it is no regular file")

    def test_of_the_variable(self):
        for kind in self.KINDS:
            with self.subTest(kind):
                variable = {"TOPK_JIT_NVRTC": str(self.folder / kind)}
                done = self.warm(BUILD, environment=variable)
                self.is_refused(done, "set by TOPK_JIT_NVRTC", "it is no regular file")

    def test_of_the_variable_for_other_commands(self):
        variable = {"TOPK_JIT_NVRTC": str(self.folder / "fifo")}
        done = self.warm("doctor", environment=variable)
        self.assertIn("it is no regular file", done.stdout)


class NameOfTheVariable(Nvrtc):
    def test_bare_name_is_left_to_the_loader(self):
        self.make_a_copy("libnamed.so")
        variables = {"TOPK_JIT_NVRTC": "libnamed.so"}
        self.is_refused(self.warm(BUILD, environment=variables), "'libnamed.so', set by TOPK_JIT_NVRTC,")
        done = self.warm(BUILD, environment={**variables, "LD_LIBRARY_PATH": str(self.folder)})
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    tally.main()
