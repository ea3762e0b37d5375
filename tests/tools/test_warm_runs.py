#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs of topk-jit-warm build that are watched, interrupted, killed, repeated, run at once, or meet
a full disk.

Usage: test_warm_runs.py TOPK_JIT_WARM FAKE_LIBNVRTC
"""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import resource
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import unittest

import warm_command

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

FAKE_NVRTC = pathlib.Path(sys.argv.pop(1)).resolve()
PRODUCT = "--arch sm_80,sm_90 --topk 9001,9002,9003,9004,9005,9006"
KERNELS = 12


class RunTest(warm_command.WarmTest):
    def build(self, *arguments, **options):
        """The finished process."""
        return self.warm(*arguments, "--nvrtc", [FAKE_NVRTC], **options)

    def built(self, *arguments, **options):
        """What build --json says."""
        said = self.result(*arguments, "--nvrtc", [FAKE_NVRTC], **options)
        self.follows("build", said)
        return said["summary"]

    def start(self, *arguments, delay_ms=0, **options):
        """The running process; its compilations take so long."""
        command = [str(warm_command.BINARY), "build", "--cache-dir", str(self.cache)]
        command += ["--nvrtc", str(FAKE_NVRTC)] + " ".join(arguments).split()
        delay = {"FAKE_NVRTC_DELAY_MS": str(delay_ms)}
        options["env"] = self.own_environment({**delay, **options.pop("environment", {})})
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("preexec_fn", warm_command.heed_signals)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, text=True, **options)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()

    def kernels_stored(self):
        return [name for name in self.entries() if name.endswith(".tkc")]

    def wait_for(self, condition):
        for _ in range(2000):
            if condition():
                return
            time.sleep(0.01)
        self.fail("it never came to be")

    def assert_whole(self):
        """Every entry of the cache is one."""
        for name in self.kernels_stored():
            command = [warm_command.BINARY, "inspect", self.cache / name]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def assert_goes_on(self, stored):
        """The same command compiles what is missing, and nothing else."""
        summary = self.built(PRODUCT)
        self.assertEqual((summary["already_there"], summary["failed"]), (stored, 0))
        self.assertEqual(summary["compiled"], KERNELS - stored)


class Terminal(RunTest):
    def watch(self, *arguments, columns=100, during=None, environment=None):
        """What a terminal of so many columns is told on stderr."""
        reader, writer = pty.openpty()
        self.resize(writer, columns)
        process = self.start(
            *arguments, "-j 1", stderr=writer, stdout=subprocess.DEVNULL,
            delay_ms=20, environment={"TERM": "xterm", **(environment or {})},
        )
        text = []
        collector = threading.Thread(target=self.collect, args=(reader, text))
        collector.start()
        if during is not None:
            during(process, writer, text)
        status = process.wait(timeout=warm_command.TIMEOUT_SECONDS)
        os.close(writer)
        collector.join()
        os.close(reader)
        self.assertEqual(status, 0)
        return "".join(text)

    def resize(self, terminal, columns):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def collect(self, reader, text):
        with contextlib.suppress(OSError):  # the last writer has closed
            while data := os.read(reader, 65536):
                text.append(data.decode())

    def lines(self, text):
        """Each state of the line."""
        return [line.replace("\x1b[K", "") for line in text.split("\r")[1:]]

    def test_one_line_says_how_far_the_run_is(self):
        text = self.watch(PRODUCT)
        self.assertNotIn("\n", text)
        self.assertRegex(
            text,
            r"\[==========>         \] 6/12 \d:\d\d \d:\d\d left topk_jit_general_k9003_f32_plain for sm_90",
        )
        self.assertRegex(text, r"\[=+\] 12/12 \d:\d\d ")

    def test_line_is_gone_at_the_end(self):
        self.assertTrue(self.watch(PRODUCT).endswith("\r\x1b[K"))

    def test_line_is_never_wider_than_the_terminal(self):
        for columns in (2, 9, 40, 61, 300):
            text = self.watch(PRODUCT, "--refresh", columns=columns)
            longest = max(len(line) for line in self.lines(text))
            self.assertLess(longest, columns)

    def test_terminal_may_change_its_width(self):
        def shrink(process, terminal, text):
            self.wait_for(lambda: "3/12" in "".join(text))
            self.resize(terminal, 30)
            process.send_signal(signal.SIGWINCH)

        text = self.watch(PRODUCT, during=shrink)
        self.assertTrue(all(len(line) < 30 for line in self.lines(text)[-6:]), text)
        self.assertGreater(max(len(line) for line in self.lines(text)), 30)

    def test_line_goes_on_while_a_kernel_is_compiled(self):
        text = self.watch(
            "--arch sm_90 --topk 9001", environment={"FAKE_NVRTC_DELAY_MS": "2300"}
        )
        self.assertRegex(text, "0/1 0:0[1-9] topk_jit")

    def test_plain_text_is_to_be_had(self):
        for wish in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            text = self.watch(PRODUCT, "--refresh", environment=wish)
            self.assertNotIn("\x1b", text)
            self.assertIn("[12/12] compiled topk_jit_general", text)

    def test_complaint_has_a_line_of_its_own(self):
        (self.folder / "file").write_text("")
        reader, writer = pty.openpty()
        process = self.start(
            "--arch sm_90 --topk 9001", "--cache-dir /dev/null/below",
            stderr=writer, stdout=subprocess.DEVNULL, environment={"TERM": "xterm"},
        )
        self.assertEqual(process.wait(), 1)
        os.close(writer)
        text = []
        self.collect(reader, text)
        os.close(reader)
        self.assertRegex("".join(text), "\r\x1b\\[Ktopk-jit-warm: [^\r\n]*/dev/null/below")


class Interrupted(RunTest):
    def interrupt(self, number, *arguments, delay_ms=100, **options):
        """A run that gets the signal after its first kernel. @return it, finished, and its text"""
        process = self.start(PRODUCT, "-j 2", *arguments, delay_ms=delay_ms, **options)
        first = process.stderr.readline()
        self.assertIn("[1/12]", first)
        process.send_signal(number)
        errors = first + process.stderr.read()  # communicate() would miss what is buffered
        out = process.stdout.read()
        process.wait(timeout=warm_command.TIMEOUT_SECONDS)
        return process, out, errors

    def test_kernels_at_work_are_finished_and_one_line_says_how_many(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            process, out, errors = self.interrupt(number, "--refresh")
            self.assertEqual((process.returncode, out), (status, ""), errors)
            said = [line for line in errors.splitlines() if line.startswith("topk-jit-warm:")]
            done = re.fullmatch(
                r"topk-jit-warm: interrupted: (\d+) of 12 kernels are done; .*", said[0]
            )
            self.assertEqual(len(said), 1, errors)
            self.assertEqual(int(done.group(1)), errors.count("] compiled"))
            self.assertLess(int(done.group(1)), KERNELS)
            self.assertFalse(list((self.cache / "tmp").iterdir()))

    def test_same_command_goes_on(self):
        self.interrupt(signal.SIGINT)
        stored = len(self.kernels_stored())
        self.assertGreater(stored, 0)
        self.assert_whole()
        self.assert_goes_on(stored)

    def test_result_is_in_the_json(self):
        process, out, _ = self.interrupt(signal.SIGTERM, "--json")
        said = json.loads(out)
        self.follows("build", said)
        self.assertEqual(process.returncode, 143)
        self.assertEqual(said["summary"]["compiled"], len(self.kernels_stored()))
        not_tried = [k for k in said["kernels"] if k["status"] == "not_tried"]
        self.assertEqual({k["error"] for k in not_tried}, {None})
        self.assertEqual(said["summary"]["not_tried"], len(not_tried))
        self.assertEqual(said["summary"]["compiled"] + len(not_tried), KERNELS)
        self.assertEqual(said["summary"]["failed"], 0)

    def test_second_signal_ends_at_once(self):
        process = self.start(PRODUCT, "-j 2", delay_ms=4000, stderr=subprocess.PIPE)
        self.wait_for(lambda: self.threads(process) >= 5)  # two builders, each with its compiler
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        errors = process.communicate()[1]
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted: 0 of 12", errors)
        self.assertEqual(self.kernels_stored() if self.cache.exists() else [], [])

    def test_kernel_that_takes_too_long_is_abandoned(self):
        process = self.start(PRODUCT, "-j 2", delay_ms=60000)
        self.wait_for(lambda: self.threads(process) >= 5)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=30)[1]
        self.assertEqual(process.returncode, 130)
        self.assertEqual(errors.count("\n"), 1, errors)

    def test_signal_that_is_ignored_ends_nothing(self):
        process, out, errors = self.interrupt(
            signal.SIGHUP, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        )
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn("compiled 12", out)

    def test_kill_at_any_moment_leaves_a_valid_cache(self):
        for milliseconds in range(0, 120, 8):
            process = self.start(PRODUCT, "-j 2 --refresh", delay_ms=5)
            time.sleep(milliseconds / 1000)
            process.kill()
            process.wait()
            self.assert_whole()
        process = self.start(PRODUCT, "-j 2 --refresh", delay_ms=5)
        process.stderr.readline()  # on a slow machine the first one
        process.kill()
        process.wait()
        stored = len(self.kernels_stored())
        self.assertGreater(stored, 0)
        self.assert_goes_on(stored)
        self.assert_whole()

    def threads(self, process):
        return len(list(pathlib.Path(f"/proc/{process.pid}/task").iterdir()))


class Readers(RunTest):
    def test_reader_of_progress_that_went_away_ends_nothing(self):
        reader, writer = os.pipe()
        os.close(reader)
        process = self.start(PRODUCT, stderr=writer)
        os.close(writer)
        out = process.communicate()[0]
        self.assertEqual(process.returncode, 0)
        self.assertIn("compiled 12", out)

    def test_reader_of_the_result_that_went_away_leaves_the_kernels(self):
        reader, writer = os.pipe()
        os.close(reader)
        process = self.start(PRODUCT, stdout=writer)
        os.close(writer)
        process.communicate()
        self.assertEqual(process.returncode, 1)
        self.assert_goes_on(KERNELS)

    def test_reader_that_stopped_reading_cannot_keep_the_process(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        many = ",".join(str(topk) for topk in range(9001, 9200))
        process = self.start("--arch sm_90 -j 2 --topk", many, stderr=writer)
        os.close(writer)
        self.wait_for(lambda: self.is_full(reader))
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=30), 130)
        self.assert_whole()

    def is_full(self, reader):
        waiting = struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, b"\0" * 4))[0]
        return waiting > 4096 - 100


class Together(RunTest):
    def test_two_runs_share_the_work(self):
        runs = [self.start(PRODUCT, "-j 2 --json", delay_ms=30) for _ in range(2)]
        said = [json.loads(run.communicate()[0])["summary"] for run in runs]
        self.assertEqual([run.returncode for run in runs], [0, 0])
        self.assertEqual(sum(summary["compiled"] for summary in said), KERNELS)
        self.assertEqual(sum(summary["already_there"] for summary in said), KERNELS)
        self.assert_whole()

    def test_refresh_waits_for_nobody(self):
        runs = [self.start(PRODUCT, "--refresh --json", delay_ms=10) for _ in range(2)]
        said = [json.loads(run.communicate()[0])["summary"] for run in runs]
        self.assertEqual([summary["compiled"] for summary in said], [KERNELS, KERNELS])
        self.assert_whole()


class FullDisk(RunTest):
    def assert_one_line(self, errors, words):
        said = [line for line in errors.splitlines() if line.startswith("topk-jit-warm:")]
        self.assertEqual(len(said), 1, errors)
        self.assertIn(words, said[0])

    def test_file_that_may_not_grow_is_one_line(self):
        process = self.start(
            PRODUCT, "-j 2",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)),
        )
        out, errors = process.communicate()
        self.assertEqual(process.returncode, 1, errors)
        self.assert_one_line(errors, "File too large")
        self.ended_early(out, KERNELS)
        self.assertEqual(self.kernels_stored(), [])
        self.assert_goes_on(0)

    def test_kernels_that_nobody_came_to_have_not_failed(self):
        for more, status in (("", 1), ("--dry-run", 1)):
            said = self.result(
                PRODUCT, "-j 1", more, "--nvrtc /missing/libnvrtc.so", status=status
            )
            self.follows("build", said)
            summary = said["summary"]
            self.assertEqual((summary["failed"], summary["not_tried"]), (1, KERNELS - 1))
            errors = [(k["status"], k["error"] is None) for k in said["kernels"]]
            self.assertEqual(errors.count(("failed", False)), 1)
            self.assertEqual(errors.count(("not_tried", True)), KERNELS - 1)
            done = self.warm(PRODUCT, "-j 1", more, "--nvrtc /missing/libnvrtc.so")
            self.assertEqual(done.returncode, status)
            self.assertIn("already there 0, failed 1, not tried 11", done.stdout)

    def test_disk_that_fills_up_is_one_line_and_holds_whole_entries(self):
        self.cache.mkdir(mode=0o700)
        script = (
            'mount -t tmpfs -o size=40k,mode=0700 none "$1" || exit 77; '
            '"$2" --cache-dir "$1" --nvrtc "$3" -j 2 $4; status=$?; '
            'for entry in "$1"/v1/*/*; do "$2" inspect "$entry" > /dev/null || exit 99; done; '
            "exit $status"
        )
        words = [script, "sh", self.cache, warm_command.BINARY, FAKE_NVRTC, PRODUCT]
        done = subprocess.run(
            ["unshare", "--map-root-user", "--mount", "sh", "-c", *map(str, words)],
            capture_output=True,
            text=True,
        )
        if done.returncode == 77 or "unshare" in done.stderr:
            self.skipTest(f"nothing can be mounted: {done.stderr}")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assert_one_line(done.stderr, "No space left on device")
        self.assertIn("] compiled", done.stderr)


class Again(RunTest):
    def test_refresh_replaces_every_entry_by_the_same_bytes(self):
        self.built(PRODUCT)
        before = self.entries()
        files = {name: (self.cache / name).stat().st_ino for name in self.kernels_stored()}
        self.assertEqual(self.built(PRODUCT, "--refresh")["compiled"], KERNELS)
        self.assertEqual(self.entries(), before)
        for name, inode in files.items():
            self.assertNotEqual((self.cache / name).stat().st_ino, inode)

    def test_refresh_replaces_what_is_damaged(self):
        self.built(PRODUCT)
        before = self.entries()
        names = self.kernels_stored()
        (self.cache / names[0]).write_bytes(b"nothing")
        (self.cache / names[1]).unlink()
        (self.cache / names[1]).symlink_to("/dev/null")
        self.assertEqual(self.built(PRODUCT, "--refresh")["compiled"], KERNELS)
        self.assertEqual(self.entries(), before)

    def test_dry_run_says_what_is_missing_and_writes_nothing(self):
        dry = self.built(PRODUCT, "--dry-run", status=4)
        self.assertEqual((dry["would_compile"], dry["already_there"]), (KERNELS, 0))
        self.assertFalse(self.cache.exists())
        self.built("--arch sm_90 --topk 9001,9003")
        before = {path: path.stat().st_mtime_ns for path in self.cache.rglob("*")}
        done = self.build("--arch sm_90 --topk 9001,9002 -n")
        self.assertEqual((done.returncode, done.stderr), (4, ""))
        self.assertEqual(
            done.stdout.splitlines(),
            [
                "already there topk_jit_general_k9001_f32_plain for sm_90",
                "would compile topk_jit_general_k9002_f32_plain for sm_90",
                "would compile 1, already there 1, failed 0",
            ],
        )
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.cache.rglob("*")}, before)

    def test_dry_run_with_refresh_compiles_all(self):
        self.built(PRODUCT)
        dry = self.built(PRODUCT, "--refresh --dry-run", status=4)
        self.assertEqual(dry["would_compile"], KERNELS)

    def test_dry_run_ends_with_0_only_if_all_is_there(self):
        self.built("--arch sm_90 --topk 9001")
        for more, status in (("", 0), (",9002", 4)):
            for form in ("", "--json", "-v"):
                done = self.build(f"--arch sm_90 --topk 9001{more} -n", form)
                self.assertEqual(done.returncode, status, done.stderr)
        self.built("--arch sm_90 --topk 9002")
        self.assertEqual(self.build("--arch sm_90 --topk 9001,9002 -n").returncode, 0)

    def test_dry_run_needs_what_the_run_needs(self):
        done = self.warm("--dry-run --arch sm_90 --nvrtc /missing/libnvrtc.so")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/missing/libnvrtc.so", done.stderr)
        self.assertFalse(self.cache.exists())

    def test_target_that_is_named_again_is_built_once(self):
        words = ",".join(100 * ["sm_90", "sm_90a", "compute_90", "sm_80"])
        said = self.result(f"--topk 9001 --arch {words} --nvrtc", [FAKE_NVRTC])
        self.assertEqual([k["target"] for k in said["kernels"]], ["sm_90", "compute_90", "sm_80"])

    def test_all_is_whatever_nvrtc_and_library_know(self):
        said = self.result("--arch sm_90,all --topk 9001 --nvrtc", [FAKE_NVRTC])
        numbers = [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121]
        targets = sorted(kernel["target"] for kernel in said["kernels"])
        self.assertEqual(targets, sorted(f"sm_{number}" for number in numbers))

    def test_all_needs_nvrtc(self):
        done = self.warm("--arch all --nvrtc /missing/libnvrtc.so")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^topk-jit-warm: --arch all: .*/missing/libnvrtc.so.*\n$")


class Evicted(RunTest):
    """More kernels than the directory may hold, each of the same size."""

    def setUp(self):
        super().setUp()
        self.bytes = self.built(PRODUCT, cache=self.folder / "all")["bytes"]

    def limit(self, size):
        return {"environment": {"TOPK_JIT_CACHE_MAX_BYTES": str(size)}}

    def test_kernels_that_did_not_stay_are_a_failure(self):
        for size in (self.bytes - 1, self.bytes // 2, self.bytes // KERNELS, 1):
            for jobs in ("-j1", "-j4"):
                cache = self.folder / f"{size}{jobs}"
                done = self.build(PRODUCT, jobs, "--json", cache=cache, **self.limit(size))
                self.assertEqual(done.returncode, 1)
                said = json.loads(done.stdout)
                self.follows("build", said)
                left = len(list(cache.glob("v1/*/*.tkc")))
                evicted = [k for k in said["kernels"] if k["status"] == "evicted"]
                self.assertEqual(said["summary"]["evicted"], KERNELS - left)
                self.assertEqual(said["summary"]["compiled"], left)
                self.assertEqual({k["bytes"] for k in evicted}, {0})
                self.assertEqual(len(evicted), KERNELS - left)
                for words in (f"{KERNELS - left} of {KERNELS} kernels were removed again",
                              f"{self.bytes} bytes", f"{cache} may hold {size} ",
                              "TOPK_JIT_CACHE_MAX_BYTES", "run the same command"):
                    self.assertIn(words, done.stderr)

    def test_text_has_how_many(self):
        done = self.build(PRODUCT, "-j1", **self.limit(1))
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"compiled 1, already there 0, failed 0, removed again {KERNELS - 1} in",
                      done.stdout)

    def test_kernels_that_were_there_before_count_too(self):
        self.built("--arch sm_80 --topk 9001")
        for path in self.cache.glob("v1/*/*.tkc"):
            os.utime(path, (1, 1))
        done = self.build(PRODUCT, "-j1", "--json", **self.limit(self.bytes // 2))
        self.assertEqual(done.returncode, 1)
        summary = json.loads(done.stdout)["summary"]
        self.assertEqual(summary["compiled"] + summary["already_there"], len(self.kernels_stored()))

    def test_others_may_go_and_with_room_the_same_command_ends_well(self):
        self.built("--arch sm_80 --topk 9100,9101,9102")
        for path in self.cache.glob("v1/*/*.tkc"):
            os.utime(path, (1, 1))
        summary = self.built(PRODUCT, **self.limit(2 * self.bytes - 1))
        self.assertEqual((summary["evicted"], summary["compiled"]), (0, KERNELS))
        self.assertEqual(self.build(PRODUCT, "--refresh", **self.limit(1)).returncode, 1)
        summary = self.built(PRODUCT)
        self.assertEqual(summary["compiled"] + summary["already_there"], KERNELS)


if __name__ == "__main__":
    tally.main()
