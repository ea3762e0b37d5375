#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""topk-jit-warm inspect says what is in an entry or a pack, and believes nothing in it.

Usage: test_warm_inspect.py TOPK_JIT_WARM FAKE_LIBNVRTC
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

import warm_command

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

FAKE_NVRTC = pathlib.Path(sys.argv.pop(1)).resolve()
CORPUS = pathlib.Path(__file__).resolve().parents[1] / "fuzz" / "corpus"
CUBIN = CORPUS / "entry" / "sound-cubin"
ODD = CORPUS / "entry" / "sound-control-characters"
TRIO = CORPUS / "pack" / "sound-three"
HANG_SECONDS = 60
FILE_SIZE_AT, INDEX_AT = 16, 64  # in a pack


class InspectTest(warm_command.WarmTest):
    def inspect(self, *arguments, stdout=subprocess.PIPE):
        return subprocess.run(
            [str(warm_command.BINARY), "inspect", *map(str, arguments)],
            cwd=self.folder,
            env=warm_command.clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=HANG_SECONDS,
        )

    def text(self, *arguments):
        done = self.inspect(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def object(self, *arguments):
        found = json.loads(self.text("--json", *arguments))
        self.follows("inspect", found)
        return found

    def fails(self, *arguments, status=1, naming):
        done = self.inspect(*arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Atopk-jit-warm: .*\n\Z")
        for word in naming:
            self.assertIn(word, done.stderr)

    def written(self, data, name="file"):
        path = self.folder / name
        path.write_bytes(data)
        return path


class Entry(InspectTest):
    def test_every_field_has_its_line(self):
        lines = self.text(CUBIN).splitlines()
        fields = {line[:11].strip(): line[11:] for line in lines}
        self.assertEqual(
            fields,
            {
                "entry": f"{CUBIN.stat().st_size} bytes",
                "key": self.object(CUBIN)["key"],
                "kind": "cubin",
                "target": "sm_90",
                "toolchain": "nvrtc 13.0",
                "library": "0.1.0",
                "name": "topk_jit_general_k2048_f32",
                "registers": "40",
                "shared": "1024 static, 65536 dynamic",
                "stack": "16",
                "spills": "8, 4 in other functions",
                "payload": "7 bytes",
                "spec": "operation=select,topk=2048",
            },
        )
        self.assertEqual(len(lines), len(fields))

    def test_json_has_the_same(self):
        found = self.object(CUBIN)
        self.assertRegex(found.pop("key"), r"\A[0-9a-f]{32}\Z")
        self.assertRegex(found.pop("version"), r"\A[0-9]+\.[0-9]+")
        self.assertEqual(
            found,
            {
                "format": "entry",
                "bytes": CUBIN.stat().st_size,
                "kind": "cubin",
                "target": "sm_90",
                "toolchain": "nvrtc 13.0",
                "library": "0.1.0",
                "entry_name": "topk_jit_general_k2048_f32",
                "registers": 40,
                "static_shared": 1024,
                "dynamic_shared": 65536,
                "stack": 16,
                "spill": 8,
                "other_spill": 4,
                "payload_bytes": 7,
                "spec": "operation=select,topk=2048",
            },
        )

    def test_ptx_is_told(self):
        path = CORPUS / "entry" / "sound-ptx"
        self.assertIn("\nkind       ptx\n", self.text(path))
        self.assertEqual(self.object(path)["kind"], "ptx")

    def test_preimage_is_shown_on_request(self):
        self.assertNotIn("schema", self.text(CUBIN))
        self.assertIn("\npreimage\n  schema 1:1\n  spec 26:", self.text(CUBIN, "--preimage"))
        self.assertTrue(self.object(CUBIN, "--preimage")["preimage"].startswith("schema 1:1\nspec"))

    def test_preimage_without_a_spec(self):
        path = CORPUS / "entry" / "sound-least"
        self.assertIn("\nspec       none\n", self.text(path))
        self.assertIsNone(self.object(path)["spec"])
        self.assertEqual(self.object(path, "--preimage")["preimage"], "")

    def test_entry_of_the_cache_has_its_key_as_its_name(self):
        result = self.result("--arch sm_90 --topk 9004 --nvrtc", [FAKE_NVRTC])
        (path,) = self.cache.glob("v1/*/*.tkc")
        found = self.object(path)
        self.assertEqual(found["key"], path.parent.name + path.name.split(".")[0])
        self.assertEqual(found["spec"], result["kernels"][0]["spec"])
        self.assertEqual(found["bytes"], path.stat().st_size)

    def test_characters_of_the_file_cannot_steer_a_terminal(self):
        text = self.text(ODD, "--preimage")
        self.assertTrue(all(c == "\n" or " " <= c <= "~" for c in text), ascii(text))
        for escaped in (r"sm_\x0a90", r"\x1b[31mred", r"\xff\xfe", r"back\\slash\x09\x7f"):
            self.assertIn(escaped, text)

    def test_json_has_every_byte_of_a_text(self):
        found = self.object(ODD)
        self.assertEqual(found["target"], "sm_\n90")
        self.assertEqual(found["library"], "\xff\xfe")
        self.assertEqual(found["entry_name"], "back\\slash\t\x7f")


class Pack(InspectTest):
    def test_line_of_the_pack_and_one_an_entry(self):
        first, titles, *rest = self.text(TRIO).splitlines()
        digest = TRIO.read_bytes()[-16:].hex()
        self.assertEqual(first, f"pack       3 entries, {TRIO.stat().st_size} bytes, digest {digest}")
        self.assertEqual(titles.split(), "KEY CUDA TARGET BYTES KERNEL".split())
        self.assertEqual(len(rest), 3)
        for line in rest:
            self.assertRegex(line, r"\A[0-9a-f]{32}  1[23]    sm_90   +\d+  topk_jit_general_k2048_f32\Z")
        self.assertEqual(rest, sorted(rest))

    def test_json_has_the_same(self):
        found = self.object(TRIO)
        lines = [line.split() for line in self.text(TRIO).splitlines()[2:]]
        self.assertEqual((found["format"], found["count"]), ("pack", 3))
        self.assertEqual(found["bytes"], TRIO.stat().st_size)
        self.assertEqual(found["digest"], TRIO.read_bytes()[-16:].hex())
        self.assertEqual(
            [[e["key"], str(e["major"]), e["target"], str(e["bytes"]), e["entry_name"]]
             for e in found["entries"]],
            lines,
        )

    def test_pack_of_nothing(self):
        path = CORPUS / "pack" / "sound-none"
        self.assertEqual(self.text(path).count("\n"), 1)
        self.assertEqual(self.object(path)["entries"], [])

    def test_preimage_of_a_pack_is_refused(self):
        self.fails(TRIO, "--preimage", status=2, naming=["--preimage", "pack"])


class Damage(InspectTest):
    def test_every_flawed_file_of_the_corpus_is_named_and_every_sound_one_shown(self):
        files = sorted(CORPUS.glob("*/[a-z]*"))
        self.assertGreater(len(files), 30)
        for path in files:
            if path.name.startswith("sound-"):
                self.text(path)
            else:
                self.fails(path, naming=[f"{path}: "])

    def test_flaw_is_said(self):
        self.fails(CORPUS / "entry" / "flaw-checksum", naming=["its checksum does not match"])
        self.fails(CORPUS / "entry" / "flaw-version", naming=["another format version"])
        self.fails(CORPUS / "pack" / "flaw-overlap", naming=["overlaps"])
        self.fails(CORPUS / "pack" / "flaw-entry-damaged", naming=["an entry in it is damaged"])

    def test_file_of_another_kind(self):
        for data in (b"", b"\x89TK", b"\x7fELF" + bytes(1000)):
            self.fails(self.written(data), naming=["neither a cache entry nor a pack"])

    def test_truncated_file(self):
        for path in (CUBIN, TRIO):
            data = path.read_bytes()
            for size in (8, 63, 64, 65, len(data) // 2, len(data) - 1):
                self.fails(self.written(data[:size]), naming=["cut"])

    def test_appended_bytes(self):
        for path in (CUBIN, TRIO):
            self.fails(self.written(path.read_bytes() + b"\0"), naming=["appended"])

    def test_huge_file_is_refused_unread(self):
        for path, flaw in ((CUBIN, "larger than any entry"), (TRIO, "larger than any pack")):
            huge = self.written(path.read_bytes())
            os.truncate(huge, (4 << 30) + 1)
            self.fails(huge, naming=[flaw])


    def peak_bytes(self, path, naming):
        """The most memory that refusing the file took."""
        process = subprocess.Popen(
            [str(warm_command.BINARY), "inspect", str(path)],
            env=warm_command.clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process.stderr:
            said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 1, said)
        self.assertIn(naming, said)
        return usage.ru_maxrss * 1024

    def test_pack_of_a_possible_size_is_refused_by_its_head(self):
        """Sparse, so that it costs nobody a disk: what is read of it is what takes memory."""
        large = 1 << 30
        for changed, flaw in (
            (0, "its digest is not where its entries end"),
            (1, "the checksum of its index does not match"),
        ):
            data = bytearray(TRIO.read_bytes())
            data[FILE_SIZE_AT : FILE_SIZE_AT + 8] = large.to_bytes(8, "little")
            data[INDEX_AT] ^= changed
            sparse = self.written(data)
            os.truncate(sparse, large)
            self.assertLess(self.peak_bytes(sparse, flaw), large // 2)


class Unreadable(InspectTest):
    def test_no_such_file(self):
        self.fails("missing.tkc", status=4, naming=["'missing.tkc' is no file here and no KEY"])
        self.fails("./missing.tkc", status=4, naming=["missing.tkc: No such file"])

    def test_fifo_does_not_hang(self):
        os.mkfifo(self.folder / "fifo")
        self.fails("fifo", naming=["fifo: it is no regular file"])

    def test_directory_and_device(self):
        self.fails(self.folder, naming=["it is no regular file"])
        self.fails("/dev/zero", naming=["it is no regular file"])

    def test_file_name_cannot_make_a_second_line(self):
        self.fails("./a\n\x1bb", status=4, naming=[r"a\x0a\x1bb: No such file"])

    def test_symbolic_link_is_followed(self):
        (self.folder / "link").symlink_to(CUBIN)
        self.assertEqual(self.text("link"), self.text(CUBIN))

    def test_full_disk_behind_stdout(self):
        for flags in ([], ["--json"]):
            with open("/dev/full", "w") as full:
                done = self.inspect(TRIO, *flags, stdout=full)
            self.assertEqual(done.returncode, 1)
            self.assertIn("stdout", done.stderr)


class Usage(InspectTest):
    def test_help_names_every_option_and_exit_status(self):
        for flag in ("--help", "-h"):
            text = self.text(flag)
            for word in ("inspect FILE", "--json", "--preimage", "Exit status"):
                self.assertIn(word, text)

    def test_missing_file_name(self):
        self.fails(status=2, naming=["inspect", "FILE is missing"])
        self.fails("--json", status=2, naming=["inspect", "FILE is missing"])

    def test_second_file(self):
        self.fails(CUBIN, TRIO, status=2, naming=[str(TRIO)])

    def test_unknown_option(self):
        self.fails(CUBIN, "--xml", status=2, naming=["--xml"])

    def test_command_is_the_first_argument_only(self):
        self.refused("inspect", naming=["inspect"])  # after --cache-dir


if __name__ == "__main__":
    tally.main()
