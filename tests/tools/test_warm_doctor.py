#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""topk-jit-warm doctor finds what is wrong with a machine, says what to do, and changes nothing.

Usage: test_warm_doctor.py TOPK_JIT_WARM FAKE_LIBNVRTC FAKE_LIBCUDA
"""
import fcntl
import json
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import sys
import unittest

import warm_command

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

FAKE_NVRTC = pathlib.Path(sys.argv.pop(1)).resolve()
FAKE_CUDA = pathlib.Path(sys.argv.pop(1)).resolve().parent
PACKS = pathlib.Path(__file__).resolve().parents[1] / "fuzz" / "corpus" / "pack"
NOBODY = 65534
IS_ROOT = os.geteuid() == 0


def can_mount():
    """Whether mounts can be made that nobody else sees."""
    done = subprocess.run(["unshare", "-m", "true"], capture_output=True, timeout=60)
    return IS_ROOT and done.returncode == 0


class DoctorTest(warm_command.WarmTest):
    """A healthy machine, of which each test spoils one thing: a server's home, an NVRTC with its
    builtins, a place for the locks; no driver."""

    def setUp(self):
        super().setUp()
        self.cuda = self.folder / "cuda"
        self.runtime = self.folder / "run"
        for folder in (self.cuda / "lib64", self.runtime, self.folder / "none"):
            folder.mkdir(parents=True)
        self.runtime.chmod(0o700)
        (self.folder / "none" / "libcuda.so.1").write_text("")  # found first, and no library
        self.nvrtc = self.cuda / "lib64" / "libnvrtc.so.13"
        shutil.copy(FAKE_NVRTC, self.nvrtc)
        shutil.copy(FAKE_NVRTC, self.cuda / "lib64" / "libnvrtc-builtins.so.13.0")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "TOPK_JIT_NVRTC": str(self.nvrtc),
            "TOPK_JIT_CACHE_DIR": str(self.cache),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "LD_LIBRARY_PATH": str(self.folder / "none"),
        }
        for name in ("ASAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def doctor(self, *arguments, environment=None, prefix=(), **options):
        """The finished process. A variable that is None is not set."""
        settings = {**self.environment, **(environment or {})}
        return subprocess.run(
            [*prefix, str(warm_command.BINARY), "doctor", *arguments],
            cwd=self.folder,
            env={name: value for name, value in settings.items() if value is not None},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            **options,
        )

    def checks(self, *arguments, **options):
        """Every finding; the exit status says whether there is a problem."""
        done = self.doctor("--json", *arguments, **options)
        self.assertEqual(done.stderr, "")
        said = json.loads(done.stdout)
        self.follows("doctor", said)
        has_problem = any(check["state"] == "problem" for check in said["checks"])
        self.assertEqual(done.returncode, int(has_problem), said)
        return said["checks"]

    def findings(self, check, **options):
        """Those of one check, by its group and name."""
        found = [c for c in self.checks(**options) if f"{c['group']} {c['name']}" == check]
        self.assertNotEqual(found, [], check)
        return found

    def finds(self, check, state, *words, advice=None, **options):
        """The check says it in one finding, with the words and the advice."""
        found = self.findings(check, **options)
        fitting = [c for c in found if all(word in c["found"] for word in words)]
        self.assertEqual([c["state"] for c in fitting], [state], found)
        if advice is not None:
            self.assertIn(advice, fitting[0]["advice"])
        return fitting[0]

    def build(self, *arguments):
        done = subprocess.run(
            [str(warm_command.BINARY), "--arch", "sm_90", "--topk", "9004", *arguments],
            env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60,
        )
        self.assertEqual(done.returncode, 0, done.stderr)


class Healthy(DoctorTest):
    def test_machine_that_only_builds_has_no_problem(self):
        checks = self.checks()
        self.assertNotIn("problem", [check["state"] for check in checks])
        groups = {check["group"] for check in checks}
        self.assertEqual(groups, {"environment", "library", "nvrtc", "driver", "cache", "locks",
                                  "recording", "limits"})
        self.finds("driver library", "note", "no CUDA driver", advice="only builds")

    def test_text_has_a_line_for_each_finding(self):
        checks = self.checks()
        first, *lines = self.doctor().stdout.splitlines()
        self.assertRegex(first, r"\Astate +check +found\Z")
        self.assertEqual(len(lines), len(checks))
        states = {"ok": "OK", "note": "note", "problem": "PROBLEM"}
        for line, check in zip(lines, checks):
            self.assertTrue(line.startswith(states[check["state"]]), line)
            self.assertIn(f"{check['group']} {check['name']} ", line)
            if check["advice"] is not None:
                self.assertTrue(line.endswith(f" => {check['advice']}"), line)

    def test_nothing_is_created_or_changed(self):
        def state():
            return {str(p): p.lstat().st_mtime_ns for p in self.folder.rglob("*")}

        before = state()
        self.doctor()
        self.assertEqual(state(), before)
        self.build()
        before = state()
        self.doctor()
        self.assertEqual(state(), before)

    def test_cache_in_use_is_told(self):
        self.build()
        self.finds("cache directory", "ok", f"{self.cache}, by TOPK_JIT_CACHE_DIR: ", "mode 0700")
        size = next(self.cache.glob("v1/*/*.tkc")).stat().st_size
        self.finds("cache size", "ok", f"{size / 1024:.1f} KiB of entries, of 1.0 GiB allowed")
        self.finds("cache tag", "ok", "CACHEDIR.TAG")
        self.finds("cache leavings", "ok")
        self.finds("locks place", "ok", f"{self.runtime}/topk-jit")

    def test_findings_cannot_steer_a_terminal_or_make_a_second_line(self):
        done = self.doctor(environment={"TOPK_JIT_X\x1b[2J": "a\nb\xff", "TOPK_JIT_LOG": "\x1b[31m"})
        self.assertTrue(all(c == "\n" or " " <= c <= "~" for c in done.stdout), ascii(done.stdout))
        self.assertEqual(done.stderr, "")


class Variables(DoctorTest):
    def test_every_wrong_value_is_told_and_the_rest_is_examined(self):
        wrong = {
            "TOPK_JIT_MODE": "on",
            "TOPK_JIT_TOOLCHAIN": "13",
            "TOPK_JIT_SHARED": "yes",
            "TOPK_JIT_LOCK_TIMEOUT_MS": "-1",
            "TOPK_JIT_CACHE_MAX_BYTES": "99999999999999999999999",
            "TOPK_JIT_RO_DIRS": "/a:b",
            "TOPK_JIT_RECORD": "record.txt",
        }
        found = self.findings("environment variables", environment=wrong)
        problems = {c["found"].split()[0]: c for c in found if c["state"] == "problem"}
        self.assertEqual(set(problems), set(wrong))
        for name, check in problems.items():
            self.assertIn("expected", check["found"], name)
        self.finds("cache mode", "ok", "auto", environment=wrong)

    def test_good_values_are_listed(self):
        self.finds("environment variables", "ok", "TOPK_JIT_MODE=readonly",
                   environment={"TOPK_JIT_MODE": "readonly"})
        self.finds("cache mode", "ok", "readonly", environment={"TOPK_JIT_MODE": "readonly"})
        self.finds("cache mode", "note", "off", environment={"TOPK_JIT_MODE": "off"})

    def test_unknown_name_is_told_with_the_nearest(self):
        self.finds("environment variables", "note", "TOPK_JIT_CAHCE_DIR is no variable",
                   "did you mean 'TOPK_JIT_CACHE_DIR'?", environment={"TOPK_JIT_CAHCE_DIR": "/x"})
        check = self.finds("environment variables", "note", "TOPK_JIT_FROBNICATE",
                           environment={"TOPK_JIT_FROBNICATE": "1"})
        self.assertNotIn("did you mean", check["found"])

    def test_value_that_means_something_else(self):
        self.finds("environment variables", "note", "TOPK_JIT_LOG=1 means info",
                   environment={"TOPK_JIT_LOG": "1"})
        self.finds("environment variables", "ok", "TOPK_JIT_LOG=info",
                   environment={"TOPK_JIT_LOG": "info"})
        self.finds("environment variables", "note", "TOPK_JIT_MODE is empty",
                   environment={"TOPK_JIT_MODE": ""})

    def test_relative_paths_are_ignored(self):
        relative = {"TOPK_JIT_CACHE_DIR": "cache", "XDG_RUNTIME_DIR": "run", "CUDA_HOME": "cuda"}
        self.finds("environment variables", "problem", "TOPK_JIT_CACHE_DIR=cache is ignored",
                   environment=relative, advice="absolute")
        for name in ("XDG_RUNTIME_DIR", "CUDA_HOME"):
            self.finds("environment paths", "note", f"{name}=", environment=relative)
        self.finds("cache directory", "ok", ", by HOME: ", environment=relative)

    def test_option_beats_the_variable(self):
        other = self.folder / "other"
        found = [c for c in self.checks("--cache-dir", str(other)) if c["name"] == "variables"]
        self.assertIn(f"TOPK_JIT_CACHE_DIR={self.cache} gives way to --cache-dir",
                      [c["found"] for c in found])

    @unittest.skipUnless(IS_ROOT, "only root can give a program more rights")
    def test_more_rights_than_the_users(self):
        self.folder.chmod(0o755)
        binary = self.folder / "warm"
        shutil.copy(warm_command.BINARY, binary)
        os.chown(binary, 1, 1)
        binary.chmod(0o4755)
        done = subprocess.run(
            [str(binary), "doctor", "--json"], cwd="/", env=self.environment, user=NOBODY,
            group=NOBODY, extra_groups=[], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=60,
        )
        if done.returncode == 127:
            self.skipTest("the loader refuses the copy")
        found = {c["name"]: c for c in json.loads(done.stdout)["checks"]
                 if c["group"] == "environment" and "CACHE_DIR" in c["found"]
                 or c["name"] == "privileges"}
        if "as who started it" in found["privileges"]["found"]:
            self.skipTest("the file system gives no rights")
        self.assertIn("the environment is ignored", found["privileges"]["found"])
        self.assertIn("is ignored", found["variables"]["found"])


class Library(DoctorTest):
    def test_templates_are_told_with_their_digest(self):
        check = self.finds("library templates", "ok", "ABI")
        self.assertRegex(check["found"], r"digest [0-9a-f]{32}, ABI \d+\Z")
        named = self.finds("library templates", "ok", str(warm_command.TEMPLATES),
                           environment={"TOPK_JIT_TEMPLATE_DIR": str(warm_command.TEMPLATES)})
        self.assertEqual(check["found"].split("digest")[1], named["found"].split("digest")[1])

    def test_templates_that_cannot_be_used(self):
        self.finds("library templates", "problem", "/nowhere", advice="TOPK_JIT_TEMPLATE_DIR",
                   environment={"TOPK_JIT_TEMPLATE_DIR": "/nowhere"})


class Nvrtc(DoctorTest):
    def test_rule_that_found_it_is_told(self):
        self.finds("nvrtc library", "ok", f"found by TOPK_JIT_NVRTC: {self.nvrtc}")
        self.finds("nvrtc library", "ok", f"found by CUDA_HOME: {self.nvrtc}",
                   environment={"TOPK_JIT_NVRTC": None, "CUDA_HOME": str(self.cuda)})

    def test_file_behind_a_link_is_told(self):
        link = self.folder / "libnvrtc.so"
        link.symlink_to(self.nvrtc)
        self.finds("nvrtc library", "ok", str(self.nvrtc), environment={"TOPK_JIT_NVRTC": str(link)})

    def test_missing_nvrtc_is_a_problem_unless_none_is_needed(self):
        missing = {"TOPK_JIT_NVRTC": "/nowhere/libnvrtc.so"}
        self.finds("nvrtc library", "problem", "/nowhere/libnvrtc.so", environment=missing,
                   advice="install NVRTC")
        self.finds("nvrtc library", "note", "in the mode offline none is needed",
                   environment={**missing, "TOPK_JIT_MODE": "offline"})

    def test_nvrtc_that_is_too_old(self):
        self.finds("nvrtc library", "problem", "NVRTC 11.8 is older than 12.0",
                   environment={"FAKE_NVRTC_VERSION": "11.8"})

    def test_builtins_of_the_same_version_beside_it(self):
        self.finds("nvrtc builtins", "ok", "libnvrtc-builtins.so.13.0 is beside it")

    def test_builtins_of_another_version(self):
        self.finds("nvrtc builtins", "problem", "libnvrtc-builtins.so.12.77 is not beside it",
                   "libnvrtc-builtins.so.13.0, which does not fit", advice="same version",
                   environment={"FAKE_NVRTC_VERSION": "12.77"})

    def test_missing_builtins(self):
        (self.cuda / "lib64" / "libnvrtc-builtins.so.13.0").unlink()
        check = self.finds("nvrtc builtins", "problem", "libnvrtc-builtins.so.12.77 is not beside it",
                           environment={"FAKE_NVRTC_VERSION": "12.77"})
        self.assertNotIn("fit", check["found"])

    def test_newest_target_is_told(self):
        self.finds("nvrtc targets", "ok", "the newest is sm_121")
        self.finds("nvrtc targets", "ok", "the newest is sm_90",
                   environment={"FAKE_NVRTC_VERSION": "12.0"})


class Driver(DoctorTest):
    def setUp(self):
        super().setUp()
        self.environment["LD_LIBRARY_PATH"] = str(FAKE_CUDA)

    def test_driver_and_gpus(self):
        self.finds("driver library", "ok", f"{FAKE_CUDA}/libcuda.so.1, for CUDA 13.0")
        self.finds("driver toolkit", "ok")
        gpus = [c["found"] for c in self.findings("driver gpus")]
        self.assertEqual([g.split(": ")[-1] for g in gpus], ["kernels for sm_80", "kernels for sm_90"])

    def test_driver_older_than_the_toolkit(self):
        self.finds("driver toolkit", "problem", "nvrtc 13.0", "CUDA 12.4", "does not load here",
                   advice="CUDA 12", environment={"FAKE_CUDA_VERSION": "12040"})
        self.finds("driver toolkit", "ok", environment={"FAKE_CUDA_VERSION": "12040",
                                                        "FAKE_NVRTC_VERSION": "12.9"})

    def test_driver_that_is_too_old(self):
        self.finds("driver library", "problem", "CUDA 11.8", advice="newer driver",
                   environment={"FAKE_CUDA_VERSION": "11080"})

    def test_gpu_that_is_too_old(self):
        found = self.findings("driver gpus", environment={"FAKE_CUDA_CAPABILITY": "70"})
        self.assertEqual({c["state"] for c in found}, {"problem"})
        self.assertIn("older than compute capability 7.5", found[0]["found"])

    def test_gpu_that_is_newer_than_nvrtc(self):
        found = self.findings("driver gpus", environment={"FAKE_CUDA_CAPABILITY": "100",
                                                          "FAKE_NVRTC_VERSION": "12.0"})
        self.assertEqual({c["state"] for c in found}, {"note"})
        self.assertIn("kernels for compute_90, for want of better", found[0]["found"])
        self.assertIn("sm_100", found[0]["advice"])


class Directory(DoctorTest):
    def test_rule_that_chose_it(self):
        chosen = {"TOPK_JIT_CACHE_DIR": None}
        self.finds("cache directory", "ok", f"{self.folder}/home/.cache/topk-jit, by HOME: ",
                   environment=chosen)
        chosen["XDG_CACHE_HOME"] = str(self.folder / "xdg")
        self.finds("cache directory", "ok", f"{self.folder}/xdg/topk-jit, by XDG_CACHE_HOME: ",
                   environment=chosen)

    @unittest.skipUnless(IS_ROOT, "only root can be a user without a home")
    def test_user_without_a_home(self):
        self.folder.chmod(0o755)
        (self.folder / "none").chmod(0o755)
        environment = {"TOPK_JIT_CACHE_DIR": None, "HOME": None}
        self.finds("cache directory", "note", "there is none", advice="TOPK_JIT_CACHE_DIR",
                   environment=environment, user=4321, group=4321, extra_groups=[])

    def test_directory_that_others_can_write(self):
        self.build()
        self.cache.chmod(0o777)
        self.finds("cache directory", "problem", "is writable by its group or by everybody",
                   "mode 0777", advice="chmod go-w")

    def test_symbolic_link(self):
        (self.folder / "real").mkdir(mode=0o700)
        self.cache.symlink_to(self.folder / "real")
        self.finds("cache directory", "problem", "is a symbolic link", advice="where the link leads")

    @unittest.skipUnless(IS_ROOT, "only root can give a directory away")
    def test_directory_of_another_user(self):
        self.build()
        os.chown(self.cache, NOBODY, NOBODY)
        self.finds("cache directory", "problem", "belongs to another user", f"user {NOBODY}",
                   advice="chown")

    def test_file_in_its_place(self):
        self.cache.write_text("")
        self.finds("cache directory", "problem", "is not a directory")

    def test_place_below_a_file_cannot_be_created(self):
        (self.folder / "file").write_text("")
        path = str(self.folder / "file" / "cache")
        (check,) = self.findings("cache directory", environment={"TOPK_JIT_CACHE_DIR": path})
        self.assertEqual(check["state"], "problem")

    @unittest.skipUnless(can_mount(), "nothing can be mounted")
    def test_read_only_file_system(self):
        self.cache.mkdir(mode=0o700)
        mounted = ["unshare", "-m", "sh", "-c",
                   'mount -t tmpfs -o ro,mode=0700 none "$0" && exec "$@"', str(self.cache)]
        self.finds("cache file system", "problem", "tmpfs", "read-only", prefix=mounted,
                   advice="TOPK_JIT_MODE=readonly")
        self.finds("cache directory", "problem", "cannot be written", prefix=mounted)
        readonly = {"TOPK_JIT_MODE": "readonly"}
        self.finds("cache file system", "ok", "tmpfs", prefix=mounted, environment=readonly)
        self.finds("cache directory", "ok", prefix=mounted, environment=readonly)

    @unittest.skipUnless(can_mount(), "nothing can be mounted")
    def test_memory_file_system_and_a_full_one(self):
        self.cache.mkdir(mode=0o700)
        mounted = ["unshare", "-m", "sh", "-c",
                   'mount -t tmpfs -o size=1m,mode=0700 none "$0" && exec "$@"', str(self.cache)]
        self.finds("cache file system", "note", "tmpfs", "lost at a restart", prefix=mounted)
        self.finds("cache space", "problem", "1.0 MiB free", prefix=mounted, advice="make room")

    def test_what_processes_that_died_left(self):
        self.build()
        (self.cache / "tmp").mkdir(exist_ok=True)
        old = self.cache / "tmp" / "new-0123456789abcdef"
        old.write_text("x")
        self.finds("cache leavings", "ok")
        os.utime(old, (1, 1))
        self.finds("cache leavings", "note", "1 files")
        self.assertTrue(old.exists())

    def in_turn(self):
        """Each directory within it, after a kernel was stored."""
        for name in ("v1", "v1/*", "tmp"):
            shutil.rmtree(self.cache, ignore_errors=True)
            self.build()
            path, = self.cache.glob(name)
            yield path

    def test_directory_within_it_that_others_can_write(self):
        for path in self.in_turn():
            self.finds("cache contents", "ok")
            path.chmod(0o777)
            self.finds("cache contents", "problem", f"{path} is not used", "others can write it",
                       advice="chmod go-w")

    def test_file_or_link_in_place_of_a_directory_within_it(self):
        for path in self.in_turn():
            path.rename(self.folder / "aside")
            path.write_text("")
            self.finds("cache contents", "problem", f"{path} is not used", "Not a directory",
                       advice="remove it")
            path.unlink()
            path.symlink_to(self.folder / "aside")
            self.finds("cache contents", "problem", f"{path} is not used", "Not a directory")
            shutil.rmtree(self.folder / "aside")

    @unittest.skipUnless(IS_ROOT, "only root can be another user")
    def test_directory_within_it_that_cannot_be_read_or_written(self):
        as_nobody = {"preexec_fn": lambda: os.setuid(NOBODY)}
        for path in (self.folder, self.cuda, self.cuda / "lib64", self.folder / "none"):
            path.chmod(0o755)
        for path in self.in_turn():
            for below in (self.cache, *self.cache.rglob("*")):
                os.chown(below, NOBODY, NOBODY)
            path.chmod(0)
            self.finds("cache contents", "problem", f"{path} is not used", "Permission denied",
                       advice="readable", **as_nobody)
            path.chmod(0o500)
            if path.parent == self.cache:
                self.finds("cache contents", "problem", f"{path} cannot be written",
                           advice="writable", **as_nobody)

    def test_more_than_it_may_hold(self):
        self.build()
        self.finds("cache size", "note", "of 10 B allowed", advice="TOPK_JIT_CACHE_MAX_BYTES",
                   environment={"TOPK_JIT_CACHE_MAX_BYTES": "10"})
        self.assertEqual(len(list(self.cache.glob("v1/*/*.tkc"))), 1)

    def test_missing_tag(self):
        self.build()
        (self.cache / "CACHEDIR.TAG").unlink()
        self.finds("cache tag", "note", "there is no CACHEDIR.TAG")


class ReadOnly(DoctorTest):
    def test_every_place_is_judged(self):
        image = self.folder / "image"
        image.mkdir(mode=0o755)
        shutil.copy(PACKS / "sound-three", image / "good.tkp")
        shutil.copy(PACKS / "flaw-overlap", image / "bad.tkp")
        environment = {"TOPK_JIT_RO_DIRS": f"{image}:/nowhere"}
        self.finds("cache read only", "ok", f"{image}/good.tkp: a pack", environment=environment)
        self.finds("cache read only", "ok", f"{image}: a directory", environment=environment)
        self.finds("cache read only", "problem", "bad.tkp is not used", "overlaps",
                   environment=environment, advice="TOPK_JIT_RO_DIRS")
        self.finds("cache read only", "problem", "/nowhere is not used: does not exist",
                   environment=environment)

    def test_directory_of_which_a_part_cannot_be_used(self):
        self.build()
        self.cache.rename(self.folder / "image")
        shard, = (self.folder / "image").glob("v1/*")
        shard.chmod(0o777)
        self.finds("cache read only", "problem", f"{shard} is not used", "others can write it",
                   environment={"TOPK_JIT_RO_DIRS": str(self.folder / "image")})

    def test_pack_that_others_can_write(self):
        pack = self.folder / "a.tkp"
        shutil.copy(PACKS / "sound-three", pack)
        pack.chmod(0o666)
        self.finds("cache read only", "problem", "others can write it",
                   environment={"TOPK_JIT_RO_DIRS": str(pack)})


class Locks(DoctorTest):
    def test_place_that_is_not_there_yet(self):
        self.finds("locks place", "ok", f"{self.runtime}/topk-jit, with the first kernel")
        self.finds("locks support", "ok")
        self.finds("locks held", "ok", "none")
        self.assertEqual(list(self.runtime.iterdir()), [])

    def test_place_of_no_use_gives_way_as_for_the_library(self):
        below = self.runtime / "topk-jit"
        below.mkdir(mode=0o777)
        below.chmod(0o777)
        check = self.finds("locks place", "note", "XDG_RUNTIME_DIR cannot be used", advice="alone")
        self.assertNotIn(str(self.runtime), check["found"])

    def test_kernels_that_are_being_compiled_are_counted(self):
        self.build()
        with open(self.runtime / "topk-jit" / "locks", "r+b") as file:
            for start in (5, 6, 1 << 61):
                lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, start, 1, 0)
                fcntl.fcntl(file, 37, lock)  # F_OFD_SETLK
            check = self.finds("locks held", "note")
        self.assertIn(check["found"].split(":")[0], ("2", "3"))  # neighbours may be one lock
        self.finds("locks held", "ok")

    def test_none_are_used_where_nothing_is_written(self):
        for name, value in (("TOPK_JIT_MODE", "readonly"), ("TOPK_JIT_LOCK_TIMEOUT_MS", "0")):
            checks = self.checks(environment={name: value})
            (check,) = [c for c in checks if c["group"] == "locks"]
            self.assertIn("none are used", check["found"])


class Recording(DoctorTest):
    def records(self, path, *words, state="ok", **options):
        environment = {"TOPK_JIT_RECORD": str(path)}
        return self.finds("recording file", state, *words, environment=environment, **options)

    def test_none_is_fine(self):
        self.finds("recording file", "ok", "none")

    def test_file_that_is_there_or_can_be(self):
        path = self.folder / "specs"
        self.records(path, str(path), "comes with the first spec")
        self.assertFalse(path.exists())
        path.write_text("")
        os.utime(path, (1, 1))
        self.records(path, "is appended")
        self.assertEqual((path.read_text(), path.stat().st_mtime), ("", 1))

    def test_what_the_library_refuses_is_a_problem(self):
        (self.folder / "file").write_text("")
        (self.folder / "link").symlink_to("file")
        (self.folder / "dangling").symlink_to("nothing")
        os.mkfifo(self.folder / "pipe")
        for name, why in (("link", "symbolic link"), ("dangling", "symbolic link"),
                          ("pipe", "no regular file"), ("none", "directory"),
                          ("file/below", "Not a directory")):
            self.records(self.folder / name, why, state="problem", advice="name a")
        self.records(self.folder / "missing" / "specs", "cannot be created", "No such file",
                     state="problem", advice="name a file in a directory")
        self.records("/dev/full", "no regular file", state="problem")

    @unittest.skipUnless(IS_ROOT, "only root can be another user")
    def test_rights_are_those_of_the_user(self):
        as_nobody = {"preexec_fn": lambda: os.setuid(NOBODY)}
        for folder in (self.folder, self.cuda, self.cuda / "lib64", self.folder / "none"):
            folder.chmod(0o755)
        path = self.folder / "specs"
        self.records(path, "cannot be created", "Permission denied", state="problem", **as_nobody)
        path.write_text("")
        path.chmod(0o600)
        self.records(path, "Permission denied", state="problem", **as_nobody)
        path.chmod(0o666)
        self.records(path, "belongs to user 0", state="note", advice="its own", **as_nobody)
        os.chown(path, NOBODY, NOBODY)
        self.records(path, "is appended", **as_nobody)


class Limits(DoctorTest):
    def test_limits_that_are_too_low(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        self.finds("limits file size", "problem", "1000 bytes", preexec_fn=limit, advice="ulimit -f")

    @unittest.skipIf(b"__asan_init" in warm_command.BINARY.read_bytes(),
                     "AddressSanitizer needs the address space")
    def test_address_space(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))

        self.finds("limits address space", "problem", "200 MiB", preexec_fn=limit,
                   advice="ulimit -v")


class Usage(DoctorTest):
    def test_operand_is_refused(self):
        done = self.doctor("cache")
        self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_full_disk_behind_stdout(self):
        for flags in ([], ["--json"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run(
                    [str(warm_command.BINARY), "doctor", *flags], env=self.environment,
                    stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True,
                    timeout=60,
                )
            self.assertEqual(done.returncode, 1)
            self.assertIn("stdout", done.stderr)


if __name__ == "__main__":
    tally.main()
