#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""topk-jit-warm unpack: the entries of packs into the cache, of a damaged pack none.

Usage: test_warm_unpack.py TOPK_JIT_WARM FAKE_LIBNVRTC
"""
import os
import pathlib
import resource
import sys
import time
import unittest

import pack_case
import warm_command

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

CORPUS = pathlib.Path(__file__).resolve().parents[1] / "fuzz" / "corpus" / "pack"
COUNT_AT, FILE_SIZE_AT = 12, 16


class UnpackTest(pack_case.PackTest):
    def setUp(self):
        """A pack, its entries by their names, and no cache."""
        super().setUp()
        source = self.folder / "source"
        self.build(cache=source)
        self.pack(cache=source)
        self.expected = self.stored(source)

    def stored(self, cache=None):
        cache = cache or self.cache
        return {str(p.relative_to(cache)): p.read_bytes() for p in self.entry_files(cache)}

    def refuses(self, *arguments, **options):
        """It fails before the first entry is written."""
        before = self.stored()
        err = self.fails("unpack", *arguments, **options)
        self.assertEqual(self.stored(), before)
        return err


class Stores(UnpackTest):
    def test_every_entry_as_it_was_and_a_pack_of_them_as_it_was(self):
        said = self.unpack()
        self.assertEqual(said["cache"], str(self.cache))
        self.assertEqual(said["summary"]["new"], 6)
        self.assertEqual(said["summary"]["bytes"], sum(map(len, self.expected.values())))
        self.assertEqual(self.stored(), self.expected)
        again = self.folder / "again.tkp"
        self.pack(out=again)
        self.assertEqual(again.read_bytes(), self.out.read_bytes())

    def test_what_is_there_is_left_alone_and_counted(self):
        self.build(topk="9001", arch="sm_90")
        (path,) = self.entry_files()
        inode = path.stat().st_ino
        said = self.unpack()
        self.assertEqual((said["summary"]["new"], said["summary"]["already_there"]), (5, 1))
        self.assertEqual(path.stat().st_ino, inode)
        said = self.unpack()
        self.assertEqual((said["summary"]["new"], said["summary"]["already_there"]), (0, 6))
        self.assertEqual(said["summary"]["bytes"], 0)
        self.assertEqual({e["status"] for e in said["entries"]}, {"already_there"})

    def test_what_differs_is_replaced(self):
        self.unpack()
        path = self.entry_files()[2]
        path.write_bytes(path.read_bytes()[:-1])
        self.assertEqual(self.unpack()["summary"]["new"], 1)
        self.assertEqual(self.stored(), self.expected)

    def test_other_entries_stay(self):
        self.build(topk="9100", arch="sm_90")
        self.unpack()
        self.assertEqual(len(self.stored()), 7)

    def test_several_packs_of_which_entries_are_the_same(self):
        source, second = self.folder / "other", self.folder / "second.tkp"
        self.build(topk="9001,9005", arch="sm_90", cache=source)
        self.pack(out=second, cache=source)
        said = self.unpack(self.out, second)
        self.assertEqual((said["summary"]["entries"], said["summary"]["new"]), (8, 7))
        packs = [entry["pack"] for entry in said["entries"]]
        self.assertEqual(packs, [str(self.out)] * 6 + [str(second)] * 2)
        self.assertEqual(self.stored(), {**self.expected, **self.stored(source)})

    def test_pack_of_nothing(self):
        self.assertEqual(self.unpack(CORPUS / "sound-none")["summary"]["entries"], 0)

    def test_dry_run_says_what_would_be_done_and_does_nothing(self):
        said = self.unpack("--dry-run", self.out)
        self.assertEqual((said["dry_run"], said["summary"]["new"]), (True, 6))
        self.assertFalse(self.cache.exists())
        self.build(topk="9001", arch="sm_90")
        out = self.must("unpack", "-n", self.out, "--cache-dir", self.cache)
        self.assertEqual(out.count("already there"), 2)
        self.assertRegex(out, r"\nwould unpack 5, already there 1, \d+ bytes: ")
        self.assertEqual(len(self.stored()), 1)

    def test_people_are_told_the_sums(self):
        out = self.must("unpack", self.out, "--cache-dir", self.cache)
        self.assertRegex(out, r"\Aunpacked 6, already there 0, \d+ bytes: .*/cache\n\Z")

    def test_modes_are_of_servers(self):
        self.unpack(environment={"TOPK_JIT_MODE": "offline"})
        self.assertEqual(self.stored(), self.expected)

    def test_two_at_once(self):
        processes = [self.start("unpack", self.out, "--cache-dir", self.cache) for _ in range(2)]
        for process in processes:
            _, err = process.communicate(timeout=pack_case.HANG_SECONDS)
            self.assertEqual(process.returncode, 0, err)
        self.assertEqual(self.stored(), self.expected)

    def test_killed_one_leaves_whole_entries_and_the_next_one_the_rest(self):
        partial = 0
        for delay in range(1, 40):
            cache = self.folder / f"cache{delay}"
            process = self.start("unpack", self.out, "--cache-dir", cache)
            while process.poll() is None and len(self.entry_files(cache)) < 1 + delay % 5:
                time.sleep(0)
            process.kill()
            process.communicate(timeout=pack_case.HANG_SECONDS)
            there = self.stored(cache)
            self.assertLessEqual(there.items(), self.expected.items())
            said = self.unpack(cache=cache)
            self.assertEqual(said["summary"]["already_there"], len(there))
            self.assertEqual(self.stored(cache), self.expected)
            partial += 0 < len(there) < 6
            if partial == 3:
                return
        self.assertGreater(partial, 0)


class Size(UnpackTest):
    def setUp(self):
        super().setUp()
        self.size = sum(map(len, self.expected.values()))

    def limit(self, size):
        return {"environment": {"TOPK_JIT_CACHE_MAX_BYTES": str(size)}}

    def test_pack_that_the_cache_may_not_hold_is_refused(self):
        self.refuses(self.out, naming=[str(self.size), "TOPK_JIT_CACHE_MAX_BYTES"],
                     **self.limit(self.size - 1))
        self.assertFalse(self.cache.exists())

    def test_entries_used_less_make_room(self):
        self.build(topk="9100,9101,9102", arch="sm_90")
        for path in self.entry_files():
            os.utime(path, (1, 1))
        self.unpack(**self.limit(self.size * 8 // 7 + 8))
        self.assertEqual(self.stored(), self.expected)

    def test_entries_that_did_not_stay_are_a_failure(self):
        self.build(topk="9100,9101,9102", arch="sm_90")
        self.fails("unpack", self.out, naming=["removed again", "TOPK_JIT_CACHE_MAX_BYTES"],
                   **self.limit(self.size))

    def test_full_disk(self):
        limit = (1024, 1024)  # smaller than an entry
        self.refuses(self.out, naming=["File too large"],
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))

    def test_cache_that_is_not_to_be_trusted(self):
        self.cache.mkdir()
        self.cache.chmod(0o777)
        self.refuses(self.out, naming=[self.cache, "is writable"])


class Hostile(UnpackTest):
    def setUp(self):
        super().setUp()
        self.data = self.out.read_bytes()

    def written(self, data):
        path = self.folder / "hostile.tkp"
        path.write_bytes(data)
        return path

    def test_truncated(self):
        for size in (0, 7, 8, 63, 64, 65, 64 + 6 * 32, len(self.data) // 2, len(self.data) - 1):
            self.refuses(self.written(self.data[:size]), naming=["hostile.tkp: it"])
        self.assertFalse(self.cache.exists())

    def test_one_flipped_bit_anywhere(self):
        for at in [*range(0, 64, 5), *range(64, len(self.data), 97), len(self.data) - 1]:
            data = bytearray(self.data)
            data[at] ^= 1 << at % 8
            self.refuses(self.written(data), naming=["hostile.tkp: "])
        self.assertFalse(self.cache.exists())

    def test_huge_numbers(self):
        for at, size in ((COUNT_AT, 4), (FILE_SIZE_AT, 8)):
            for number in (1 << 8 * size - 1, (1 << 8 * size) - 1, 65537, 65536):
                data = bytearray(self.data)
                data[at : at + size] = number.to_bytes(size, "little")
                self.refuses(self.written(data), naming=["hostile.tkp: "])
        self.assertFalse(self.cache.exists())

    def test_every_flawed_pack_of_the_corpus(self):
        flawed = [path for path in CORPUS.iterdir() if not path.name.startswith("sound-")]
        self.assertGreater(len(flawed), 10)
        for path in flawed:
            self.refuses(path, naming=[f"{path}: "])
        self.assertFalse(self.cache.exists())

    def test_damaged_one_behind_a_sound_one(self):
        self.refuses(self.out, self.written(self.data[:-1]), naming=["hostile.tkp"])
        self.assertFalse(self.cache.exists())

    def test_sparse_giant(self):
        path = self.written(self.data)
        os.truncate(path, 1 << 42)
        self.refuses(path, naming=["larger than any pack"])

    def test_what_is_no_file(self):
        os.mkfifo(self.folder / "fifo.tkp")
        link = self.folder / "link.tkp"
        link.symlink_to(self.out)
        for path, flaw in (("fifo.tkp", "not a regular file"), ("/dev/zero", "not a regular file"),
                           (self.folder, "not a regular file"), (link, "symbolic link")):
            self.refuses(path, naming=[path, flaw])
        self.refuses(self.out, "missing.tkp", status=4, naming=["missing.tkp", "does not exist"])
        self.assertFalse(self.cache.exists())

    def test_what_others_could_have_written(self):
        self.out.chmod(0o666)
        self.refuses(self.out, naming=["others can write it"])
        self.out.chmod(0o664)
        self.refuses(self.out, naming=["others can write it"])

    @unittest.skipUnless(os.getuid() == 0, "only root gives files away")
    def test_what_another_user_wrote(self):
        os.chown(self.out, 65533, 65533)
        self.refuses(self.out, naming=["belongs to another user"])

    def test_no_pack_is_a_wrong_command_line(self):
        self.fails("unpack", status=2, naming=["PACK is missing"])


class Memory(UnpackTest):
    def test_giant_is_refused_by_its_head_alone(self):
        """Sparse, so that it costs nobody a disk: what is read of it is what takes memory."""
        path = self.folder / "large.tkp"
        data = bytearray(self.out.read_bytes())
        large = 1 << 30
        data[FILE_SIZE_AT : FILE_SIZE_AT + 8] = large.to_bytes(8, "little")
        path.write_bytes(data)
        os.truncate(path, large)
        process = self.start("unpack", path, "--cache-dir", self.cache)
        with process.stdout, process.stderr:
            said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 1, said)
        self.assertLess(usage.ru_maxrss * 1024, large // 2)


if __name__ == "__main__":
    tally.main()
