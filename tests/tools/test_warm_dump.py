#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""topk-jit-warm dump: what of a kernel comes out, what is refused, and what it takes.

Usage: test_warm_dump.py TOPK_JIT_WARM FAKE_LIBNVRTC
"""
import os
import pathlib
import pty
import resource
import shutil
import signal
import subprocess
import sys
import unittest

import warm_command
from store_case import FAKE_NVRTC, HANG_SECONDS, StoreTest, key_of

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402


class DumpTest(StoreTest):
    def setUp(self):
        super().setUp()
        self.path = self.build("--arch sm_90 --topk 9001")[0]
        self.key = key_of(self.path)

    def payload(self):
        return self.path.read_bytes()[:-16][-self.object("inspect", self.path)["payload_bytes"]:]

    def dumps(self, *arguments, **options):
        """The bytes on stdout."""
        done = self.run_it("dump", "--cache-dir", self.cache, self.key, *arguments, text=False,
                           **options)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout

    def add(self, name, data, mode=0o600):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(mode)
        return path

    def on_a_terminal(self, *arguments, environment=()):
        """Exit status, what a terminal got that was stdout, and stderr."""
        leader, follower = pty.openpty()
        process = subprocess.Popen(
            [str(warm_command.BINARY), "dump", "--cache-dir", str(self.cache), self.key, *arguments],
            env={**warm_command.clean_environment(), **dict(environment)}, stdin=subprocess.DEVNULL,
            stdout=follower, stderr=subprocess.PIPE, text=True,
        )
        self.addCleanup(process.kill)
        os.close(follower)
        shown = b""
        try:
            while chunk := os.read(leader, 1 << 16):
                shown += chunk
        except OSError:  # the other side is closed: that is the end
            pass
        os.close(leader)
        _, said = process.communicate(timeout=HANG_SECONDS)
        return process.returncode, shown, said


class Cubin(DumpTest):
    def test_it_is_the_payload_as_it_is(self):
        self.assertEqual(self.dumps("--cubin"), self.payload())
        self.assertEqual(self.dumps("--cubin", "-o", "-"), self.payload())

    def test_file(self):
        self.assertEqual(self.dumps("--cubin", "-o", "a file"), b"")
        self.assertEqual((self.folder / "a file").read_bytes(), self.payload())
        self.assertEqual(self.dumps("--cubin", "-o", "a file"), b"")  # once more, over it

    def test_json(self):
        found = self.object("dump", self.key[:8], "--cubin")
        self.assertEqual(bytes.fromhex(found["hex"]), self.payload())
        self.assertEqual((found["key"], found["what"], found["text"], found["file"]),
                         (self.key, "cubin", None, None))
        found = self.object("dump", self.key, "--cubin", "-o", "out")
        self.assertEqual((found["file"], found["hex"]), ("out", None))
        self.assertEqual((self.folder / "out").read_bytes(), self.payload())

    def test_damaged_entry_is_not_dumped(self):
        self.damage(self.path)
        for what in ("--cubin", "--ptx", "--source", "--sass"):
            self.fails("dump", self.key, what, naming=[self.path, "checksum"])

    def test_entry_in_a_pack(self):
        pack = self.add_pack(of="sound-three")
        key = self.object("inspect", pack)["entries"][0]["key"]
        self.says("dump", key, "--cubin", environment=self.read_only("image"))

    def links(self):
        """Links to a file of somebody, one after the other."""
        target = self.folder / "there" / "target"
        target.parent.mkdir()
        target.write_bytes(b"mine")
        (self.folder / "direct").symlink_to(target)
        (self.folder / "relative").symlink_to("there/target")
        (self.folder / "chain").symlink_to("relative")
        return target, [self.folder / name for name in ("direct", "relative", "chain")]

    def test_file_behind_a_link_is_replaced_and_the_link_stays(self):
        target, links = self.links()
        for link in links:
            target.write_bytes(b"mine")
            before = os.readlink(link)
            self.says("dump", self.key, "--cubin", "-o", link)
            self.assertEqual((os.readlink(link), target.read_bytes()), (before, self.payload()))
        self.assertEqual(os.listdir(target.parent), ["target"])

    def test_file_behind_a_link_is_whole_where_the_new_one_cannot_be_written(self):
        target, links = self.links()
        for link in links:
            self.fails("dump", self.key, "--cubin", "-o", link, naming=["File too large"],
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
            self.assertEqual(target.read_bytes(), b"mine")
        self.assertEqual(os.listdir(target.parent), ["target"])

    def test_link_to_something_else(self):
        for name, to, why in (("nowhere", "no/file", "No such"), ("round", "round", "Too many"),
                              ("full", "/dev/full", "No space"), ("folder", ".", "directory")):
            link = self.folder / name
            link.symlink_to(to)
            self.fails("dump", self.key, "--cubin", "-o", link, naming=[link, why])
            self.assertTrue(link.is_symlink())
        (self.folder / "null").symlink_to("/dev/null")
        self.says("dump", self.key, "--cubin", "-o", self.folder / "null")

    def test_file_that_cannot_be_written_is_a_failure_and_no_half(self):
        self.fails("dump", self.key, "--cubin", "-o", "/dev/full", naming=["/dev/full: No space"])
        self.fails("dump", self.key, "--cubin", "-o", self.folder / "no/file", naming=["No such"])
        self.fails("dump", self.key, "--cubin", "-o", self.folder, naming=["directory"])
        done = subprocess.run(
            ["bash", "-c", 'ulimit -f 0; exec "$0" dump --cache-dir "$1" "$2" --cubin -o half',
             str(warm_command.BINARY), str(self.cache), self.key],
            cwd=self.folder, env=warm_command.clean_environment(), capture_output=True, timeout=60,
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertFalse((self.folder / "half").exists())

    def test_one_thing_is_asked_for(self):
        self.fails("dump", self.key, status=2, naming=["--cubin, --ptx, --source and --sass"])
        self.fails("dump", self.key, "--cubin", "--ptx", status=2, naming=["one thing"])
        self.fails("dump", "--cubin", status=2, naming=["KEY"])


class Terminal(DumpTest):
    def test_text_is_shown(self):
        status, shown, said = self.on_a_terminal("--source")
        self.assertEqual((status, said), (0, ""))
        self.assertIn(b"#define TKJ_TOPK 9001ll\r\n", shown)

    @unittest.skipUnless(warm_command.has_nvrtc(), "no NVRTC")
    def test_what_it_cannot_show_is_refused_unless_asked_for(self):
        shutil.rmtree(self.cache)
        self.result("--arch sm_90 --topk 9001")
        self.key = key_of(self.files()[0])
        status, shown, said = self.on_a_terminal("--cubin")
        self.assertEqual((status, shown), (2, b""))
        self.assertIn("-o -", said)
        status, shown, said = self.on_a_terminal("--cubin", "-o", "-")
        self.assertEqual((status, said), (0, ""))
        self.assertTrue(shown.startswith(b"\x7fELF"))


class Source(DumpTest):
    def test_it_is_the_prelude_and_every_template(self):
        text = self.dumps("--source").decode()
        prelude = self.object("inspect", "--preimage", self.path)["preimage"]
        prelude = prelude.split("\nprelude ")[1].split(":", 1)[1].split("\ntarget ")[0]
        expected = [("topk_jit_general_k9001_f32_plain", prelude)]
        for path in warm_command.TEMPLATES.iterdir():
            if path.suffix in (".cu", ".cuh", ".h"):
                expected.append((path.name, path.read_text()))
        for name, content in expected:
            self.assertIn(f"/* ==== {name} ==== */\n{content}", text)
        self.assertEqual(text.count("/* ==== "), len(expected))
        self.assertEqual(self.object("dump", self.key, "--source")["text"], text)

    def test_other_templates_are_refused(self):
        folder = self.folder / "templates"
        shutil.copytree(warm_command.TEMPLATES, folder)
        same = self.dumps("--source", "--template-dir", folder)
        self.assertEqual(same, self.dumps("--source"))
        with open(folder / "select_general.cu", "a", encoding="utf-8") as template:
            template.write("\n")
        for what in ("--source", "--ptx"):
            self.fails("dump", self.key, what, "--template-dir", folder, "--nvrtc", FAKE_NVRTC,
                       naming=["other templates", "digests differ"])
        self.fails("dump", self.key, "--source", "--template-dir", self.folder / "none",
                   naming=["cannot be made here"])

    def test_kernel_that_this_version_does_not_have_is_refused(self):
        pack = self.add_pack(of="sound-three")
        key = self.object("inspect", pack)["entries"][0]["key"]
        self.fails("dump", key, "--source", environment=self.read_only("image"),
                   naming=["cannot be made here"])


class Ptx(DumpTest):
    def test_it_is_compiled_anew_and_the_cache_stays(self):
        before = self.entries()
        text = self.dumps("--ptx", "--nvrtc", FAKE_NVRTC)
        self.assertNotIn(b"\0", text)
        self.assertIn(b"compute_90", text)
        self.assertEqual(self.entries(), before)

    def test_ptx_of_an_entry_that_is_ptx_is_in_it(self):
        shutil.rmtree(self.cache)
        self.path = self.build("--arch compute_90 --topk 9001")[0]
        self.key = key_of(self.path)
        missing = self.folder / "missing.so"
        self.assertEqual(self.dumps("--ptx", "--nvrtc", missing) + b"\0", self.payload())
        for what in ("--cubin", "--sass"):
            self.fails("dump", self.key, what, naming=["is PTX", "--ptx"])

    def test_without_nvrtc_it_fails(self):
        self.fails("dump", self.key, "--ptx", "--nvrtc", self.folder / "missing.so",
                   naming=["missing.so"])

    @unittest.skipUnless(warm_command.has_nvrtc(), "no NVRTC")
    def test_real_one(self):
        shutil.rmtree(self.cache)
        self.result("--arch sm_90 --topk 9001")
        self.key = key_of(self.files()[0])
        text = self.dumps("--ptx")
        for word in (b".target sm_90", b".entry topk_jit_general_k9001_f32_plain"):
            self.assertIn(word, text)


class Sass(DumpTest):
    def tool(self, script, name="bin/nvdisasm"):
        return self.add(name, b"#!/bin/sh\n" + script.encode(), 0o755)

    def environment(self, **changes):
        return {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "CUDA_HOME": "", **changes}

    def test_nvdisasm_gets_the_cubin(self):
        self.tool('echo "$#" "$1" && cat "$2" && cat && echo end')
        self.assertEqual(self.dumps("--sass", environment=self.environment()),
                         b"2 --print-code\n" + self.payload() + b"end\n")
        found = self.object("dump", self.key, "--sass", environment=self.environment())
        self.assertEqual(found["what"], "sass")
        self.assertTrue(found["text"].endswith("end\n"))

    def test_path_comes_before_the_toolkit(self):
        self.tool("echo path")
        self.tool("echo toolkit", "cuda home/bin/nvdisasm")
        home = str(self.folder / "cuda home")
        self.assertEqual(self.dumps("--sass", environment=self.environment(CUDA_HOME=home)),
                         b"path\n")
        self.assertEqual(
            self.dumps("--sass", environment={"PATH": "/usr/bin:/bin", "CUDA_HOME": home}),
            b"toolkit\n",
        )

    @unittest.skipIf(pathlib.Path("/usr/local/cuda/bin/nvdisasm").exists(), "nvdisasm is there")
    def test_none_has_its_own_status(self):
        for path in ("/nonexistent", ""):
            self.fails("dump", self.key, "--sass", status=4, naming=["nvdisasm is not there"],
                       environment={"PATH": path, "CUDA_HOME": ""})

    @unittest.skipIf(pathlib.Path("/usr/local/cuda/bin/nvdisasm").exists(), "nvdisasm is there")
    def test_working_directory_is_no_place_for_programs(self):
        self.tool("echo planted", "nvdisasm")
        for path in (".", "", ":/nonexistent:", "bin"):
            self.fails("dump", self.key, "--sass", status=4,
                       environment={"PATH": path, "CUDA_HOME": "."})

    def test_no_shell_reads_a_name(self):
        self.tool("echo found", "$(touch planted);`touch planted`/nvdisasm")
        path = f"{self.folder}/$(touch planted);`touch planted`"
        self.assertEqual(self.dumps("--sass", environment=self.environment(PATH=path)), b"found\n")
        self.assertFalse((self.folder / "planted").exists())

    def test_failure_of_nvdisasm_is_a_failure(self):
        self.tool("echo half; exit 3")
        self.fails("dump", self.key, "--sass", environment=self.environment(),
                   naming=["nvdisasm failed with exit status 3"])
        self.tool("kill -9 $$")
        self.fails("dump", self.key, "--sass", environment=self.environment(), naming=["signal 9"])
        self.add("bin/nvdisasm", b"not a program", 0o755)
        self.fails("dump", self.key, "--sass", environment=self.environment(), naming=["nvdisasm"])

    def test_signals_and_files_of_the_program_are_not_the_childs(self):
        self.tool('grep SigIgn /proc/self/status; ls /proc/self/fd | tr "\\n" " "')
        ignored, files = self.dumps("--sass", environment=self.environment()).decode().split("\n")
        self.assertEqual(int(ignored.split()[1], 16) & 1 << (signal.SIGPIPE - 1), 0)
        self.assertLessEqual(set(files.split()), {"0", "1", "2", "3", "4", "5"})

    def test_much_text_comes_whole(self):
        self.tool("i=0; while [ $i -lt 200000 ]; do echo 0123456789; i=$((i+1)); done")
        self.assertEqual(self.dumps("--sass", environment=self.environment()),
                         b"0123456789\n" * 200000)

    def test_nothing_is_left_behind(self):
        self.tool("cat \"$2\"")
        scratch = self.folder / "scratch"
        scratch.mkdir()
        self.dumps("--sass", environment=self.environment(TMPDIR=str(scratch)))
        self.assertEqual(list(scratch.iterdir()), [])

    def test_what_steers_a_terminal_is_not_shown_on_one(self):
        self.tool("printf '\\033[2J'")
        status, shown, said = self.on_a_terminal("--sass", environment=self.environment())
        self.assertEqual((status, shown), (2, b""))
        self.assertIn("-o -", said)


if __name__ == "__main__":
    tally.main()
