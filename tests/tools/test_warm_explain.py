#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""topk-jit-warm explain says what a server would find, layer by layer, and changes nothing.

Usage: test_warm_explain.py TOPK_JIT_WARM FAKE_LIBNVRTC FAKE_LIBCUDA
"""
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import unittest

import warm_command

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

FAKE_NVRTC = pathlib.Path(sys.argv.pop(1)).resolve()
FAKE_CUDA = pathlib.Path(sys.argv.pop(1)).resolve().parent
PACKS = pathlib.Path(__file__).resolve().parents[1] / "fuzz" / "corpus" / "pack"
ONE = "operation=select,layout=plain,topk=9004,dtype=float32,index=int32"
MANY = "operation=select,layout=paged,topk=2048,dtype=float32,index=int32,page_size=64"
GPUS = {"LD_LIBRARY_PATH": str(FAKE_CUDA)}


class ExplainTest(warm_command.WarmTest):
    def explain(self, *arguments, environment=None):
        return subprocess.run(
            [str(warm_command.BINARY), "explain", "--cache-dir", str(self.cache), *arguments],
            cwd=self.folder,
            env={**warm_command.clean_environment(), **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def other(self, *command):
        """What another command says of the cache."""
        return subprocess.run(
            [str(warm_command.BINARY), *command, "--cache-dir", str(self.cache)],
            env=warm_command.clean_environment(), stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=60, check=True,
        ).stdout

    def targets(self, *arguments, status=0, **options):
        done = self.explain("--json", *arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (status, ""))
        said = json.loads(done.stdout)
        self.follows("explain", said)
        return said["targets"]

    def layers(self, *arguments, **options):
        """What the layers say of the one kernel of a spec."""
        (target,) = self.targets(ONE, *arguments, **options)
        (kernel,) = target["kernels"]
        return kernel["layers"]

    def build(self, spec="--topk 9004", arch="sm_90", cache=None):
        done = self.warm(f"--arch {arch} {spec} --nvrtc", [FAKE_NVRTC], cache=cache)
        self.assertEqual(done.returncode, 0, done.stderr)

    def entry(self, cache=None):
        (path,) = (cache or self.cache).glob("v1/*/*.tkc")
        return path


class Kernels(ExplainTest):
    def test_missing_kernels_come_with_the_command_that_builds_them(self):
        (target,) = self.targets(MANY, "--arch", "sm_90", status=4)
        self.assertGreater(target["missing"], 3)
        self.assertEqual(target["missing"], len(target["kernels"]))
        command = [str(warm_command.BINARY), *shlex.split(target["command"])[1:]]
        subprocess.run(
            [*command, "--nvrtc", str(FAKE_NVRTC)],
            env=warm_command.clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=True,
        )
        (target,) = self.targets(MANY, "--arch", "sm_90")
        self.assertEqual((target["missing"], target["command"]), (0, None))

    def test_key_is_the_name_of_the_entry_and_the_preimage_what_is_in_it(self):
        self.build()
        (target,) = self.targets(ONE, "--arch", "sm_90")
        (kernel,) = target["kernels"]
        path = self.entry()
        self.assertEqual(kernel["key"], path.parent.name + path.name.split(".")[0])
        inspected = subprocess.run(
            [str(warm_command.BINARY), "inspect", "--json", "--preimage", str(path)],
            capture_output=True, text=True, check=True, timeout=60,
        )
        self.assertEqual(kernel["preimage"], json.loads(inspected.stdout)["preimage"])
        self.assertEqual(kernel["template"], "select_general.cu")

    def test_fields_may_come_in_any_order_and_have_defaults(self):
        keys = set()
        for spec in (ONE, "topk=9004", "index=int32,topk=9004,operation=select"):
            (target,) = self.targets(spec, "--arch", "sm_90", status=4)
            keys.add(target["kernels"][0]["key"])
        self.assertEqual(len(keys), 1)

    def test_text_has_what_json_has(self):
        self.build()
        text = self.explain(ONE, "--arch", "sm_90").stdout
        size = f"{self.entry().stat().st_size / 1024:.1f} KiB"
        for word in (ONE, "sm_90", "any call that no other kernel takes", "of select_general.cu",
                     f"{self.cache}: used: sm_90, {size}, age ", "s, by nvrtc 13.0"):
            self.assertIn(word, text)
        self.assertNotIn("preimage", text)
        self.assertNotIn("missing", text)
        self.assertIn("\n  preimage\n    schema 1:1\n", self.explain(ONE, "--arch", "sm_90", "-v").stdout)

    def test_nothing_is_created_or_touched(self):
        self.explain(ONE, "--arch", "sm_90")
        self.assertFalse(self.cache.exists())
        self.build()
        os.utime(self.entry(), (1, 1))
        before = {str(p): p.stat().st_mtime_ns for p in self.cache.rglob("*")}
        (layer,) = self.layers("--arch", "sm_90")
        self.assertEqual(layer["modified"], 1)
        self.assertEqual(before, {str(p): p.stat().st_mtime_ns for p in self.cache.rglob("*")})


class Layers(ExplainTest):
    def test_first_layer_that_has_it_is_used(self):
        image = self.folder / "image"
        self.build(cache=image)
        self.build()
        shutil.copy(PACKS / "sound-three", image / "a.tkp")
        pack, read_only, user = self.layers("--arch", "sm_90", environment={"TOPK_JIT_RO_DIRS": str(image)})
        self.assertEqual((pack["layer"], pack["answer"], pack["why"]), ("pack", "absent", "no entry"))
        self.assertEqual(pack["path"], f"{image}/a.tkp")
        self.assertEqual((read_only["layer"], read_only["answer"], read_only["used"]),
                         ("read-only", "hit", True))
        self.assertEqual((user["layer"], user["answer"], user["used"]), ("user", "hit", False))

    def test_words_are_those_of_list(self):
        self.build()
        (layer,) = self.layers("--arch", "sm_90")
        listed = self.other("list", "--json")
        (entry,) = json.loads(listed)["entries"]
        for name in ("layer", "major", "modified", "target", "toolchain", "bytes"):
            self.assertEqual(layer[name], entry[name], name)

    def test_entry_of_a_pack_is_found(self):
        self.build()
        pack = self.folder / "kernels.tkp"
        subprocess.run(
            [str(warm_command.BINARY), "pack", str(pack), "--cache-dir", str(self.cache)],
            env=warm_command.clean_environment(), capture_output=True, timeout=60, check=True,
        )
        shutil.rmtree(self.cache)
        layer, user = self.layers("--arch", "sm_90", environment={"TOPK_JIT_RO_DIRS": str(pack)})
        self.assertEqual((layer["layer"], layer["answer"], layer["used"]), ("pack", "hit", True))
        self.assertEqual((user["answer"], user["why"]), ("absent", "does not exist"))

    def test_corrupt_entry_is_named_as_such(self):
        self.build()
        data = bytearray(self.entry().read_bytes())
        data[-1] ^= 1
        self.entry().write_bytes(data)
        (layer,) = self.layers("--arch", "sm_90", status=4)
        self.assertEqual((layer["answer"], layer["why"]), ("corrupt", "its checksum does not match"))

    def test_untrusted_directory_says_why(self):
        self.build()
        self.cache.chmod(0o777)
        (layer,) = self.layers("--arch", "sm_90", status=4)
        self.assertEqual(layer["answer"], "unusable")
        self.assertIn("writable by its group or by everybody", layer["why"])

    def test_flawed_pack_says_why(self):
        pack = self.folder / "x.tkp"
        shutil.copy(PACKS / "flaw-overlap", pack)
        layer, _ = self.layers("--arch", "sm_90", status=4,
                               environment={"TOPK_JIT_RO_DIRS": str(pack)})
        self.assertEqual(layer["answer"], "unusable")
        self.assertIn("overlaps", layer["why"])

    def test_entry_of_another_toolchain_counts_only_under_any(self):
        self.build()
        exact = {"TOPK_JIT_TOOLCHAIN": "exact"}
        (layer,) = self.layers("--arch", "sm_90",
                               environment={**exact, "TOPK_JIT_NVRTC": str(FAKE_NVRTC)})
        self.assertTrue(layer["used"])
        (layer,) = self.layers("--arch", "sm_90", status=4,
                               environment={**exact, "TOPK_JIT_NVRTC": "/nowhere/libnvrtc.so"})
        self.assertEqual((layer["answer"], layer["why"]), ("absent", "another toolchain compiled it"))

    def test_mode_off_has_no_layer(self):
        self.build()
        environment = {"TOPK_JIT_MODE": "off"}
        (target,) = self.targets(ONE, "--arch", "sm_90", status=4, environment=environment)
        (kernel,) = target["kernels"]
        self.assertEqual((kernel["layers"], kernel["found"]), ([], False))
        self.assertIsNone(target["command"], "it could not help")
        self.assertIn("TOPK_JIT_MODE is off: unset it", target["advice"])
        done = self.explain(ONE, "--arch", "sm_90", environment=environment)
        self.assertIn("  nowhere: TOPK_JIT_MODE is off", done.stdout)
        self.assertIn("1 of 1 kernel missing; nothing is looked for", done.stdout)
        self.assertNotIn("topk-jit-warm", done.stdout)

    def test_only_mode_off_has_advice_instead_of_a_command(self):
        for mode in ("auto", "readonly", "offline"):
            (target,) = self.targets(ONE, "--arch", "sm_90", status=4,
                                     environment={"TOPK_JIT_MODE": mode})
            self.assertIn("topk-jit-warm --arch sm_90", target["command"])
            self.assertIsNone(target["advice"])

    def test_path_cannot_steer_a_terminal(self):
        done = self.explain(ONE, "--arch", "sm_90", "--cache-dir", "a\x1b[2J\nb")
        self.assertTrue(all(c == "\n" or " " <= c <= "~" for c in done.stdout), ascii(done.stdout))
        self.assertIn("a\\x1b[2J\\x0ab", done.stdout)


class Gpus(ExplainTest):
    def test_gpus_present_are_the_default(self):
        targets = self.targets(ONE, status=4, environment=GPUS)
        self.assertEqual([(t["target"], t["device"], t["driver_cuda"]) for t in targets],
                         [("sm_80", 0, 13), ("sm_90", 1, 13)])
        named = self.targets(ONE, "--arch", "sm_100,native", status=4, environment=GPUS)
        self.assertEqual([t["target"] for t in named], ["sm_100", "sm_80", "sm_90"])

    def test_ptx_serves_a_gpu_and_not_a_target_of_that_name(self):
        self.build(arch="compute_80")
        gpus = self.targets(ONE, environment=GPUS)
        self.assertEqual([t["kernels"][0]["layers"][0]["target"] for t in gpus], ["compute_80"] * 2)
        self.targets(ONE, "--arch", "sm_80", status=4)

    def test_entry_of_a_newer_cuda_than_the_drivers_is_told(self):
        self.build(arch="sm_80")
        self.entry().rename(self.entry().with_suffix("").with_suffix(".cu14.tkc"))
        (layer,) = self.layers("--arch", "sm_80")
        self.assertEqual((layer["answer"], layer["major"]), ("hit", 14))
        gpu, _ = self.targets(ONE, status=4, environment=GPUS)
        (layer,) = gpu["kernels"][0]["layers"]
        self.assertEqual((layer["answer"], layer["major"]), ("too_new", 14))
        self.assertIn("one of CUDA 14, but the driver runs CUDA 13",
                      self.explain(ONE, environment=GPUS).stdout)

    def test_no_gpu(self):
        (self.folder / "libcuda.so.1").write_text("")  # found first, and no library
        none = {"LD_LIBRARY_PATH": str(self.folder)}
        done = self.explain(ONE, environment=none)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("--arch is missing", done.stderr)
        done = self.explain(ONE, "--arch", "native", environment=none)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("no GPU", done.stderr)


    def test_driver_that_shows_no_gpu(self):
        hidden = {**GPUS, "FAKE_CUDA_HIDDEN": "1"}
        why = "the driver shows none to this process"
        done = self.explain(ONE, environment=hidden)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn(f"there is no GPU here ({why}", done.stderr)
        done = self.explain(ONE, "--arch", "native", environment=hidden)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn(f"no GPU: {why}", done.stderr)
        done = self.warm("--arch native --topk 9004 --nvrtc", [FAKE_NVRTC], environment=hidden)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn(f"no GPU: {why}", done.stderr)


class Usage(ExplainTest):
    def test_spec_that_is_none_gets_the_librarys_words(self):
        for spec, word in (("topk=2048,topk=64", "topk is given twice"), ("heap=1", '"heap"'),
                           ("layout=pagd", "did you mean 'paged'? (expected: plain, paged, ragged)"),
                           ("layuot=paged", "did you mean 'layout'?"),
                           ("index_dtype=int64", "did you mean 'index'?"),
                           ("operation=fast_topk", "index is int32, expected int64"),
                           ("layout=paged", "page_size"), ("", "spec text"), ("a" * 5000, "5000")):
            done = self.explain(spec, "--arch", "sm_90")
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertRegex(done.stderr, r"\Atopk-jit-warm: [^\n]*\n\Z")
            self.assertIn(word, done.stderr)

    def test_missing_spec_and_unknown_target(self):
        self.assertIn("SPEC is missing", self.explain().stderr)
        done = self.explain(ONE, "--arch", "sm_91")
        self.assertEqual(done.returncode, 2)
        self.assertIn("sm_91", done.stderr)

    def test_target_that_is_named_again_is_explained_once(self):
        words = ["sm_90", "sm_90a", "compute_90", "sm_80"]
        targets = self.targets(ONE, "--arch", ",".join(100 * words), status=4)
        self.assertEqual([t["target"] for t in targets], ["sm_90", "compute_90", "sm_80"])

    def test_setting_that_is_wrong_is_a_failure(self):
        done = self.explain(ONE, "--arch", "sm_90", environment={"TOPK_JIT_MODE": "on"})
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("TOPK_JIT_MODE", done.stderr)


if __name__ == "__main__":
    tally.main()
