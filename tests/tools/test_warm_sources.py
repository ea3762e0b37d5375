#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""topk-jit-warm build from files: a model's config, a manifest, a recording; and hostile ones.

Usage: test_warm_sources.py TOPK_JIT_WARM FAKE_LIBNVRTC
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

import warm_command
import fastjsonschema  # warm_command knows where it is

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

FAKE_NVRTC = pathlib.Path(sys.argv.pop(1)).resolve()
MANIFEST_SCHEMA = pathlib.Path(__file__).parents[2] / "tools" / "warm" / "manifest.schema.json"
JSON_MOST = 4 << 20
RECORDING_MOST = 16 << 20

# The keys that choose kernels, and some that could be mistaken for them, with the values that the
# models publish: config.json of deepseek-ai/DeepSeek-V3.2-Exp, deepseek-ai/DeepSeek-V4-Flash and
# zai-org/GLM-5 at huggingface.co; compress_rates as Transformers' DeepseekV4Config writes it.
DEEPSEEK_V32 = {
    "architectures": ["DeepseekV32ForCausalLM"],
    "model_type": "deepseek_v32",
    "hidden_size": 7168,
    "index_head_dim": 128,
    "index_n_heads": 64,
    "index_topk": 2048,
    "max_position_embeddings": 163840,
    "num_experts_per_tok": 8,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    "rope_scaling": {"factor": 40, "mscale": 1.0, "type": "yarn"},
    "rope_theta": 10000,
    "topk_group": 4,
    "topk_method": "noaux_tc",
    "torch_dtype": "bfloat16",
}
DEEPSEEK_V4 = {
    "architectures": ["DeepseekV4ForCausalLM"],
    "model_type": "deepseek_v4",
    "compress_ratios": [0, 0] + [4, 128] * 20 + [4, 0],
    "compress_rope_theta": 160000,
    "index_head_dim": 128,
    "index_n_heads": 64,
    "index_topk": 512,
    "max_position_embeddings": 1048576,
    "num_experts_per_tok": 6,
    "sliding_window": 128,
    "torch_dtype": "bfloat16",
}
GLM_5 = {
    "architectures": ["GlmMoeDsaForCausalLM"],
    "model_type": "glm_moe_dsa",
    "dtype": "bfloat16",
    "index_head_dim": 128,
    "index_n_heads": 32,
    "index_topk": 2048,
    "indexer_rope_interleave": True,
    "max_position_embeddings": 202752,
    "num_experts_per_tok": 8,
}
UNCOMPRESSED = [  # what a server calls whose keys are not compressed
    "operation=select,layout=paged,topk=2048,dtype=float32,index=int32,page_size=1",
    "operation=select,layout=paged,topk=2048,dtype=float32,index=int32,page_size=64",
    "operation=select,layout=ragged,topk=2048,dtype=float32,index=int32",
]


def plain(topk):
    return f"operation=select,layout=plain,topk={topk},dtype=float32,index=int32"


def without(config, *keys):
    return {key: value for key, value in config.items() if key not in keys}


class SourcesTest(warm_command.WarmTest):
    def file(self, name, content):
        """A file with bytes, text, or an object as JSON."""
        path = self.folder / name
        if not isinstance(content, (str, bytes)):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def built(self, *arguments, status=0):
        """Specs by target, each in the order of the list."""
        said = self.result(*arguments, "-j 8 --nvrtc", [FAKE_NVRTC], status=status)
        self.follows("build", said)
        specs = {}
        for kernel in said["kernels"]:
            its = specs.setdefault(kernel["target"], [])
            if kernel["spec"] not in its:
                its.append(kernel["spec"])
        names = [(k["spec"], k["target"], k["variant"]) for k in said["kernels"]]
        self.assertEqual(len(names), len(set(names)), "a kernel is there twice")
        return specs

    def refused_file(self, option, content, naming, arch="--arch sm_90"):
        path = self.file("a file", content)
        self.refused(arch, option, [path], naming=[str(path), *naming])


class Model(SourcesTest):
    def specs(self, config, *arguments):
        path = self.file("config.json", config)
        return self.built("--arch sm_90 --model-config", [path], *arguments)["sm_90"]

    def refused_config(self, config, *naming):
        self.refused_file("--model-config", config, naming)

    def test_deepseek_v32(self):
        self.assertEqual(self.specs(DEEPSEEK_V32), UNCOMPRESSED)

    def test_glm_5(self):
        self.assertEqual(self.specs(GLM_5), UNCOMPRESSED)

    def test_deepseek_v4_has_pages_of_compressed_keys(self):
        specs = [spec.replace("topk=2048", "topk=512") for spec in UNCOMPRESSED]
        self.assertEqual(self.specs(DEEPSEEK_V4), specs)
        eighth = {**DEEPSEEK_V4, "compress_ratios": [0, 8, 128, 1]}
        self.assertEqual(self.specs(eighth)[1], specs[1].replace("=64", "=32"))

    def test_compression_as_transformers_writes_it(self):
        rates = {"compressed_sparse_attention": 8, "heavily_compressed_attention": 128}
        config = {**without(DEEPSEEK_V4, "compress_ratios"), "compress_rates": rates}
        self.assertTrue(self.specs(config)[1].endswith("page_size=32"))

    def test_kernels_of_a_model_are_at_most_24_a_target(self):
        for config in (DEEPSEEK_V32, DEEPSEEK_V4, GLM_5):
            path = self.file("config.json", config)
            said = self.result(
                "--arch sm_90,sm_100 --model-config", [path], "--nvrtc", [FAKE_NVRTC]
            )
            for target in ("sm_90", "sm_100"):
                count = sum(kernel["target"] == target for kernel in said["kernels"])
                self.assertTrue(3 <= count <= 24, f"{count} for {target}")

    def test_model_is_known_by_its_keys_not_by_its_name(self):
        for renamed in ({"model_type": "deepseek_v99", "architectures": ["New"]}, {}):
            config = {**without(DEEPSEEK_V32, "model_type", "architectures"), **renamed}
            self.assertEqual(self.specs(config), UNCOMPRESSED)

    def test_language_model_of_one_that_also_sees(self):
        for part in ("text_config", "language_config", "llm_config"):
            config = {"architectures": ["Sees"], "vision_config": {}, part: GLM_5}
            self.assertEqual(self.specs(config), UNCOMPRESSED)

    def test_numbers_that_choose_nothing_may_be_missing_or_null(self):
        keys = ("index_n_heads", "index_head_dim", "max_position_embeddings")
        self.assertEqual(self.specs(without(GLM_5, *keys)), UNCOMPRESSED)
        self.assertEqual(self.specs({**GLM_5, **dict.fromkeys(keys)}), UNCOMPRESSED)

    def test_score_dtype_is_the_one_given_not_that_of_the_weights(self):
        self.assertEqual(
            self.specs(GLM_5, "--dtype bfloat16"),
            [spec.replace("float32", "bfloat16") for spec in UNCOMPRESSED],
        )

    def test_given_page_sizes_replace_those_of_the_model(self):
        specs = self.specs(GLM_5, "--page-size 128")
        self.assertEqual(specs, [UNCOMPRESSED[1].replace("=64", "=128"), UNCOMPRESSED[2]])

    def test_given_layouts_restrict_those_of_the_model(self):
        self.assertEqual(self.specs(GLM_5, "--layout ragged"), UNCOMPRESSED[2:])
        self.assertEqual(self.specs(GLM_5, "--layout paged"), UNCOMPRESSED[:2])
        self.assertEqual(self.specs(GLM_5, "--layout plain"), [plain(2048)])

    def test_options_of_order_combine_as_they_do_without_a_model(self):
        specs = self.specs(GLM_5, "--sorted --tie-break smallest --check --nan-last")
        self.assertEqual(
            specs, [spec + ",sorted,tie_break=smallest,nan_last,check" for spec in UNCOMPRESSED]
        )
        both = self.specs(GLM_5, "--layout ragged --tie-break none,largest --index-dtype int64")
        ragged = UNCOMPRESSED[2].replace("int32", "int64")
        self.assertEqual(both, [ragged, ragged + ",tie_break=largest"])

    def test_what_the_model_says_cannot_be_said_again(self):
        path = self.file("config.json", GLM_5)
        for option in ("--topk 9001", "--operation select"):
            self.refused(
                "--arch sm_90 --model-config", [path], option, naming=[option.split()[0], "model"]
            )

    def test_page_size_without_paged_is_an_error_as_ever(self):
        path = self.file("config.json", GLM_5)
        self.refused(
            "--arch sm_90 --layout ragged --page-size 64 --model-config",
            [path],
            naming=["--page-size", "paged"],
        )

    def test_unknown_model_is_told_with_what_was_looked_for_and_a_way_out(self):
        llama = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 8}
        words = ("index_topk", "text_config", "llama", "LlamaForCausalLM", "--topk")
        self.refused_config(llama, *words)
        self.refused_config({}, "index_topk", "--topk")
        self.refused_config({**GLM_5, "index_topk": None}, "index_topk", "glm_moe_dsa")

    def test_model_that_selects_in_two_steps_is_not_guessed_at(self):
        self.refused_config({**GLM_5, "index_kpool": 4}, "index_kpool", "4", "--topk")
        self.refused_config({"text_config": {**DEEPSEEK_V4, "candidate_topk_blocks": 2048}},
                            "text_config.candidate_topk_blocks", "2048", "--topk")

    def test_context_that_int32_does_not_reach(self):
        far = {**GLM_5, "max_position_embeddings": 2**31 + 1}
        self.refused_config(far, "max_position_embeddings", str(2**31 + 1), "--index-dtype int64")
        self.assertEqual(len(self.specs(far, "--index-dtype int64")), 3)
        self.assertEqual(self.specs({**far, "max_position_embeddings": 2**31}), UNCOMPRESSED)
        compressed = {**DEEPSEEK_V4, "max_position_embeddings": 2**33}
        self.assertEqual(len(self.specs(compressed)), 3)

    def test_number_of_the_wrong_kind_or_size(self):
        for key in ("index_topk", "index_n_heads", "index_head_dim", "max_position_embeddings"):
            for value in (0, -1, 2048.0, "2048", True, [2048], {"a": 1}):
                words = (f"{key} is ", "a whole number from 1 to ")
                self.refused_config({**GLM_5, key: value}, *words)
        self.refused_config({**GLM_5, "index_topk": 2**31}, str(2**31), str(2**31 - 1))
        none = {"llm_config": {**GLM_5, "index_topk": 0}}
        self.refused_config(none, "llm_config.index_topk is 0")

    def test_compression_of_the_wrong_kind_or_size(self):
        self.refused_config({**DEEPSEEK_V4, "compress_ratios": 4}, "compress_ratios is 4", "array")
        for value in (-1, "4", 4.0, None, 65537):
            config = {**DEEPSEEK_V4, "compress_ratios": [0, value]}
            self.refused_config(config, "compress_ratios[1] is ", "a whole number from 0 to 65536")
        words = ("compress_rates is an array", "object")
        self.refused_config({**GLM_5, "compress_rates": [4]}, *words)
        rates = {"compressed_sparse_attention": 0}
        key = "compress_rates.compressed_sparse_attention is 0"
        self.refused_config({**GLM_5, "compress_rates": rates}, key)

    def test_compression_that_does_not_divide_a_page_needs_a_page_size(self):
        odd = {**DEEPSEEK_V4, "compress_ratios": [0, 3]}
        self.refused_config(odd, "3", "256", "--page-size")
        self.assertEqual(len(self.specs(odd, "--page-size 1,64")), 3)

    def test_part_that_is_no_object(self):
        self.refused_config({"text_config": "GLM"}, 'text_config is "GLM"', "an object")

    def test_two_models_together(self):
        paths = [self.file("one", GLM_5), self.file("two", DEEPSEEK_V4)]
        specs = self.built("--arch sm_90", *(x for p in paths for x in ("--model-config", [p])))
        self.assertEqual(len(specs["sm_90"]), 6)

    def test_symbolic_link_is_followed(self):
        self.file("blob", GLM_5)
        (self.folder / "link").symlink_to("blob")
        self.assertEqual(self.built("--arch sm_90 --model-config link")["sm_90"], UNCOMPRESSED)


class Manifest(SourcesTest):
    def specs(self, manifest, *arguments):
        fastjsonschema.validate(json.loads(MANIFEST_SCHEMA.read_text()), manifest)
        return self.built("--manifest", [self.file("kernels.json", manifest)], *arguments)

    def refused_manifest(self, manifest, *naming, fits_schema=False):
        if not isinstance(manifest, str) and not fits_schema:
            with self.assertRaises(fastjsonschema.JsonSchemaValueException):
                fastjsonschema.validate(json.loads(MANIFEST_SCHEMA.read_text()), manifest)
        self.refused_file("--manifest", manifest, naming)

    def test_kernel_has_its_own_targets_else_the_manifests_else_those_given(self):
        named = {"spec": "topk=9001", "targets": ["sm_100", "compute_90"]}
        kernels = [named, {"spec": "topk=9002"}]
        own = [plain(9001)]
        manifest = {"version": 1, "kernels": kernels}
        self.assertEqual(
            self.specs(manifest, "--arch sm_80"),
            {"sm_100": own, "compute_90": own, "sm_80": [plain(9002)]},
        )
        manifest["targets"] = ["sm_90a"]
        self.assertEqual(
            self.specs(manifest), {"sm_100": own, "compute_90": own, "sm_90": [plain(9002)]}
        )

    def test_kernel_without_any_target(self):
        manifest = {"version": 1, "kernels": [{"spec": "topk=9001", "targets": ["sm_90"]}] * 2}
        manifest["kernels"].append({"spec": "topk=9002"})
        words = ["kernels[2].targets", "--arch"]
        self.refused("--manifest", [self.file("kernels.json", manifest)], naming=words)

    def test_architecture_that_no_kernel_uses(self):
        manifest = {"version": 1, "targets": ["sm_90"], "kernels": [{"spec": "topk=9001"}]}
        path = self.file("kernels.json", manifest)
        self.refused("--arch sm_90,sm_100 --manifest", [path], naming=["--arch", "sm_100"])
        self.assertEqual(self.built("--arch sm_90 --manifest", [path]), {"sm_90": [plain(9001)]})

    def test_spec_of_every_kind(self):
        specs = [
            "page_size=64,layout=paged,topk=9001,sorted",
            "operation=fast_topk,topk=9002,dtype=float64,index=int64",
            "topk=9003,deterministic",
        ]
        manifest = {"version": 1, "kernels": [{"spec": spec} for spec in specs]}
        self.assertEqual(
            self.specs(manifest, "--arch sm_90")["sm_90"],
            [
                UNCOMPRESSED[1].replace("2048", "9001") + ",sorted",
                "operation=fast_topk,layout=plain,topk=9002,dtype=float64,index=int64",
                plain(9003) + ",tie_break=smallest,deterministic",
            ],
        )

    def test_example_of_the_manual_is_one(self):
        text = subprocess.check_output([warm_command.BINARY, "help", "build"], text=True)
        example = text[text.index('  {"version"') :].split("\n\n")[0]
        self.assertEqual(
            {target: len(specs) for target, specs in self.specs(json.loads(example)).items()},
            {"sm_90": 1, "sm_100": 1, "compute_90": 1},
        )

    def test_what_is_missing(self):
        self.refused_manifest({"kernels": [{"spec": "topk=1"}]}, "version is missing")
        self.refused_manifest({"version": 1}, "kernels is missing")
        words = ("kernels is an array of 0", "one kernel")
        self.refused_manifest({"version": 1, "kernels": []}, *words)
        self.refused_manifest({"version": 1, "kernels": [{}]}, "kernels[0].spec is missing")

    def test_unknown_key_is_told_with_what_was_probably_meant(self):
        good = {"spec": "topk=9001"}
        self.refused_manifest(
            {"version": 1, "kernels": [good], "taregts": []}, "'taregts'", "'targets'?"
        )
        self.refused_manifest(
            {"version": 1, "kernels": [good, {**good, "arch": "sm_90"}]}, "kernels[1]", "'arch'"
        )

    def test_value_of_the_wrong_kind(self):
        kernels = [{"spec": "topk=9001"}]
        for version in (0, 2, -1, "1", None, True, [1]):
            words = ("version is", "expected 1")
            self.refused_manifest({"version": version, "kernels": kernels}, *words)
        for wrong in (5, "x", {}, None):
            self.refused_manifest({"version": 1, "kernels": wrong}, "kernels is", "an array")
            self.refused_manifest(
                {"version": 1, "kernels": kernels, "targets": wrong}, "targets is", "an array"
            )
        for wrong in (5, "x", [], None):
            self.refused_manifest({"version": 1, "kernels": [wrong]}, "kernels[0] is", "an object")
        for wrong in (5, [], {}, None, True):
            self.refused_manifest(
                {"version": 1, "kernels": kernels + [{"spec": wrong}]}, "kernels[1].spec is"
            )
        self.refused_manifest("[]", "it is an array of 0", "an object")

    def test_version_that_is_no_whole_number(self):
        manifest = {"version": 1.0, "kernels": [{"spec": "topk=9001"}]}
        self.refused_manifest(manifest, "version is 1.0", fits_schema=True)

    def test_target_that_is_none(self):
        for wrong in (90, "native", "all", "90", None):
            kernel = {"spec": "topk=9001", "targets": ["sm_90", wrong]}
            manifest = {"version": 1, "kernels": [kernel]}
            self.refused_manifest(manifest, "kernels[0].targets[1] is", "sm_90")
        for wrong in ([], ["sm_90"] * 65):
            manifest = {"version": 1, "kernels": [{"spec": "topk=9001"}], "targets": wrong}
            self.refused_manifest(manifest, "targets is an array of", "1 to 64")
        unknown = {"version": 1, "kernels": [{"spec": "topk=9001"}], "targets": ["sm_91"]}
        self.refused_manifest(unknown, "targets[0]", "sm_91", fits_schema=True)

    def test_spec_that_is_none(self):
        for spec, word in (("tokp=9", "did you mean 'topk'?"), ("topk=0", "topk"), ("topk=1,topk=2", "twice"),
                           ("layout=paged", "page_size"), ("topk=99999999999999999999", 'topk is "9999')):
            manifest = {"version": 1, "kernels": [{"spec": spec}]}
            self.refused_manifest(manifest, "kernels[0].spec", word, fits_schema=True)
        for spec in ("", "x" * 256):
            self.refused_manifest({"version": 1, "kernels": [{"spec": spec}]}, "kernels[0].spec")


class Recording(SourcesTest):
    def refused_recording(self, content, *naming):
        self.refused_file("--recording", content, naming)

    def test_lines_are_built_each_once(self):
        lines = [plain(9002), UNCOMPRESSED[1], plain(9001), plain(9002)]
        for end in ("\n", ""):
            path = self.file("specs", "\n".join(lines) + end)
            specs = self.built("--arch sm_90,sm_100 --recording", [path])
            self.assertEqual(specs, {"sm_90": lines[:3], "sm_100": lines[:3]})

    def test_spec_of_every_build_is_a_line(self):
        flags = "--layout plain,paged --page-size 1,64 --tie-break none,largest --topk 9001"
        flags += " --index-dtype int32,int64 --dtype float32,bfloat16 --sorted --check --nan-last"
        specs = self.built("--arch sm_90", flags)["sm_90"]
        path = self.file("specs", "".join(spec + "\n" for spec in specs))
        self.assertEqual(self.built("--arch sm_90 --recording", [path])["sm_90"], specs)

    def test_line_that_is_no_spec_is_named_by_its_number(self):
        self.refused_recording(plain(9001) + "\n\nnothing\n", ":3:", "'nothing'", "TOPK_JIT_RECORD")

    def test_what_a_full_disk_left_of_a_line_is_not_taken_for_a_spec(self):
        whole = UNCOMPRESSED[1]
        self.refused_recording(whole[: whole.index("48,dtype")] + "\n" + whole + "\n", ":1:")

    def test_recording_that_is_empty(self):
        for content in ("", "\n\n"):
            self.refused_recording(content, "no spec")

    def test_line_of_anything(self):
        self.refused_recording("x" * 100000, ":1:", "xxx...")
        self.refused_recording(b"\0" * 1000, ":1:", "\\x00")
        self.refused_recording(plain(9001).encode() + b"\0\n", ":1:", "\\x00")
        self.refused_recording("\x1b[31m\r\n", "\\x1b[31m\\x0d")
        self.refused_recording(b"\xff\xfe\n", "\\xff\\xfe")

    def test_recording_needs_an_architecture(self):
        path = self.file("specs", plain(9001))
        self.refused("--recording", [path], naming=["--arch"])


class Together(SourcesTest):
    def test_union_has_each_kernel_once_in_the_order_of_the_command_line(self):
        recording = self.file("specs", f"{plain(9003)}\n{UNCOMPRESSED[2]}\n")
        manifest = {"version": 1, "kernels": [{"spec": f"topk={k}"} for k in (9001, 9003)]}
        manifest["kernels"].append({"spec": "topk=9003", "targets": ["sm_100"]})
        specs = self.built(
            "--arch sm_90 --recording",
            [recording],
            "--manifest",
            [self.file("kernels.json", manifest)],
            "--model-config",
            [self.file("config.json", GLM_5)],
        )
        self.assertEqual(
            specs,
            {
                "sm_90": [plain(9003), UNCOMPRESSED[2], plain(9001), *UNCOMPRESSED[:2]],
                "sm_100": [plain(9003)],
            },
        )

    def test_options_beside_a_list_are_a_product_of_their_own(self):
        path = self.file("specs", plain(9001))
        self.assertEqual(
            self.built("--arch sm_90 --recording", [path], "--topk 9001,9002")["sm_90"],
            [plain(9001), plain(9002)],
        )
        self.assertEqual(self.built("--arch sm_90 --recording", [path])["sm_90"], [plain(9001)])

    def test_product_beside_a_manifest_needs_an_architecture(self):
        manifest = {"version": 1, "targets": ["sm_90"], "kernels": [{"spec": "topk=9001"}]}
        path = self.file("kernels.json", manifest)
        self.refused("--topk 9002 --manifest", [path], naming=["--arch"])

    def test_good_file_before_a_bad_one_builds_nothing(self):
        good = self.file("specs", plain(9001))
        bad = self.file("bad", "nothing")
        words = [str(bad), "'nothing'"]
        self.refused("--arch sm_90 --recording", [good], "--recording", [bad], naming=words)

    def test_thousand_specs_of_both_lists(self):
        path = self.file("specs", "".join(plain(9001 + i) + "\n" for i in range(700)))
        kernels = [{"spec": f"topk={9301 + i}"} for i in range(700)]
        manifest = self.file("kernels.json", {"version": 1, "kernels": kernels})
        specs = self.built("--arch sm_90 --recording", [path], "--manifest", [manifest])
        self.assertEqual(specs, {"sm_90": [plain(9001 + i) for i in range(1000)]})

    def test_more_specs_than_anybody_needs(self):
        path = self.file("specs", "".join(plain(9001 + i) + "\n" for i in range(65537)))
        self.refused("--arch sm_90 --recording", [path], naming=["65536"])

    def test_sixty_five_files(self):
        self.refused("--arch sm_90", "--recording x " * 65, naming=["--recording", "64"])


class Hostile(SourcesTest):
    """Files that nobody wrote in good faith: one line, and soon."""

    JSON_OPTIONS = ("--model-config", "--manifest")

    def refused_json(self, content, *naming):
        for option in self.JSON_OPTIONS:
            self.refused_file(option, content, naming)

    def test_no_json(self):
        self.refused_json("", ":1:")
        self.refused_json("{", ":1:")
        self.refused_json("null", ":1:")
        self.refused_json('{"version": 1,\n "kernels": }', ":2:", "near '}'")
        self.refused_json('{"version": 1} {}', ":1:", "end of file expected")
        self.refused_json("{'version': 1}", ":1:")
        self.refused_json('{"version": NaN}', ":1:")

    def test_file_that_was_cut_anywhere(self):
        manifest = {"version": 1, "targets": ["sm_90"], "kernels": [{"spec": "topk=9001"}]}
        for option, whole in (("--manifest", manifest), ("--model-config", {"text_config": GLM_5})):
            text = json.dumps(whole)
            for length in range(0, len(text), 3):
                self.refused_file(option, text[:length], [":1:", "no JSON"])

    def test_array_instead_of_an_object(self):
        self.refused_json("[1, 2]", "an array of 2", "an object")

    def test_key_that_is_there_twice(self):
        self.refused_json('{"version": 1,\n "version": 1}', ":2:", "duplicate", '"version"')
        self.refused_json('{"a": {"index_topk": 1, "index_topk": 2}}', ":1:", '"index_topk"')

    def test_deep_nesting(self):
        for opening, closing in (("[", "]"), ('{"a":', "}")):
            for closed in (closing * 100000, ""):
                self.refused_json(opening * 100000 + "1" + closed, ":1:", "depth")

    def test_huge_numbers(self):
        for key in ("version", "index_topk"):
            self.refused_json(f'{{"{key}": 1e999}}', ":1:", "1e999")
            self.refused_json(f'{{"{key}": {2**63}}}', ":1:", str(2**63))
            self.refused_json(f'{{"{key}": {"9" * 100000}}}', ":1:")

    def test_bytes_that_are_no_text(self):
        self.refused_json(b'{"version": 1\0}', ":1:")
        self.refused_json(b'{"version":\n 1\0}', ":2:", "NUL")
        self.refused_json(b"\0" * 100, ":1:", "NUL")
        self.refused_json(b'{"a\\u0000b": 1}', ":1:")
        self.refused_json(b'{"version": "\xff\xfe"}', ":1:", "0xff")
        self.refused_json(b"\xff\xfe" + '{"version": 1}'.encode("utf-16-le"), ":1:")
        self.refused_json(b"\xef\xbb\xbf{}", ":1:1:", "byte order mark")

    def test_text_that_would_steer_a_terminal(self):
        bad = "\x1b[31m\n\u202ex"
        for option, content in (
            ("--manifest", {"version": 1, "kernels": [{"spec": bad}]}),
            ("--manifest", {"version": bad, "kernels": []}),
            ("--manifest", {bad: 1}),
            ("--model-config", {"model_type": bad, "architectures": [bad]}),
            ("--model-config", {"index_topk": bad}),
        ):
            path = self.file("file", content)
            done = self.warm("--arch sm_90", option, [path])
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"\Atopk-jit-warm: [ -~]*\n\Z")

    def test_hundred_megabytes_are_not_read(self):
        path = self.folder / "large"
        with path.open("wb") as large:
            large.truncate(100_000_000)
        for option in (*self.JSON_OPTIONS, "--recording"):
            most = RECORDING_MOST if option == "--recording" else JSON_MOST
            self.refused("--arch sm_90", option, [path], naming=[str(path), "100000000", str(most)])

    def test_largest_file_that_is_read(self):
        text = json.dumps({"version": 1, "kernels": [{"spec": "topk=9001"}]})
        for size, fits in ((JSON_MOST, True), (JSON_MOST + 1, False)):
            path = self.file("file", text.ljust(size))
            done = self.warm("--arch sm_90 --nvrtc", [FAKE_NVRTC], "--manifest", [path])
            self.assertEqual(done.returncode, 0 if fits else 2, done.stderr)

    def test_what_is_no_regular_file(self):
        os.mkfifo(self.folder / "pipe")
        for path in ("pipe", ".", "/dev/zero", "/dev/null"):
            for option in (*self.JSON_OPTIONS, "--recording"):
                self.refused("--arch sm_90", option, path, naming=[path, "regular file"])

    def test_file_that_is_not_there(self):
        for option in (*self.JSON_OPTIONS, "--recording"):
            self.refused("--arch sm_90", option, "missing", naming=["missing", "No such file"])
            self.refused("--arch sm_90", option, [""], naming=[option, "a file"])

    def test_file_that_may_not_be_read(self):
        path = self.file("file", "{}")
        path.chmod(0)
        self.folder.chmod(0o755)
        user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        for option in (*self.JSON_OPTIONS, "--recording"):
            self.refused("--arch sm_90", option, [path], naming=[str(path), "Permission denied"],
                         **user)


if __name__ == "__main__":
    tally.main()
