#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""topk-jit-warm says in one line what is wrong with a command line, and does nothing then."""
import pathlib
import sys
import unittest

import warm_command

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402


class Refusals(warm_command.WarmTest):
    def test_no_architecture(self):
        self.refused("--topk 9004", naming=["--arch"])

    def test_unknown_architecture_is_named_with_the_known_ones(self):
        self.refused("--arch sm_90,sm_91x", naming=["sm_91x", "sm_75", "sm_90", "native"])

    def test_unknown_dtype(self):
        self.refused("--arch sm_90 --dtype float8", naming=["float8", "bfloat16"])

    def test_unknown_layout(self):
        self.refused("--arch sm_90 --layout paged,heap", naming=["heap", "ragged"])

    def test_unknown_operation(self):
        self.refused("--arch sm_90 --operation sort", naming=["sort", "fast_topk"])

    def test_unknown_index_dtype(self):
        self.refused("--arch sm_90 --index-dtype float32", naming=["float32", "int64"])

    def test_unknown_tie_break(self):
        self.refused("--arch sm_90 --tie-break first", naming=["first", "smallest"])

    def test_word_that_is_missing_in_a_list(self):
        self.refused("--arch sm_90 --dtype float32,,float16", naming=["--dtype", "empty", "'float32,,float16'"])

    def test_topk_that_is_no_positive_number(self):
        for topk in ("0", "-1", "2k", "99999999999999999999"):
            self.refused("--arch sm_90 --topk", topk, naming=["--topk", f"'{topk}'"])

    def test_page_size_that_is_no_power_of_two(self):
        for size in ("0", "48", "2147483648"):
            self.refused("--arch sm_90 --layout paged --page-size", size, naming=[f"'{size}'"])

    def test_jobs_that_are_no_positive_number(self):
        self.refused("--arch sm_90 -j 0", naming=["-j", "'0'"])

    def test_unknown_option(self):
        self.refused("--arch sm_90 --speed", naming=["topk-jit-warm", "--speed"])

    def test_argument_that_is_no_option(self):
        self.refused("--arch sm_90 float32", naming=["float32"])

    def test_mistyped_word_and_option_are_told_with_what_was_probably_meant(self):
        self.refused("--arch sm_90 --dtype flaot32", naming=["flaot32", "did you mean 'float32'?"])
        self.refused("--arch sm_90 --sortde", naming=["--sortde", "did you mean '--sorted'?"])
        self.refused("--arch sm_90 --sorted-not=1", naming=["'--sorted-not'"])

    def test_option_without_its_value_and_value_without_need(self):
        self.refused("--arch", naming=["--arch", "LIST"])
        self.refused("--arch sm_90 -j", naming=["--jobs", "N"])
        self.refused("--arch sm_90 --json=yes", naming=["--json=yes"])

    def test_empty_path(self):
        for option in ("--template-dir", "--nvrtc", "--cache-dir"):
            self.refused(f"--arch sm_90 {option}", [""], naming=[option, "''"])


class Impossible(warm_command.WarmTest):
    """Each value alone is right, but no kernel has all of them."""

    def test_paged_without_a_page_size(self):
        self.refused("--arch sm_90 --layout plain,paged", naming=["paged", "--page-size"])

    def test_page_size_without_paged(self):
        self.refused("--arch sm_90 --page-size 64", naming=["--page-size", "paged"])

    def test_select_with_a_dtype_of_fast_topk(self):
        self.refused("--arch sm_90 --dtype float32,float64", naming=["select", "float64"])

    def test_fast_topk_with_another_layout(self):
        self.refused("--arch sm_90 --operation fast_topk --layout ragged", naming=["plain"])

    def test_fast_topk_with_int32_indices(self):
        self.refused("--arch sm_90 --operation fast_topk --index-dtype int32", naming=["int64"])

    def test_fast_topk_with_an_option(self):
        for option in ("--sorted", "--deterministic", "--nan-last", "--check"):
            self.refused("--arch sm_90 --operation fast_topk", option, naming=["fast_topk"])

    def test_both_operations_with_dtypes_of_one_only(self):
        self.refused(
            "--arch sm_90 --operation select,fast_topk --dtype int64", naming=["select", "int64"]
        )


class Machine(warm_command.WarmTest):
    """What is missing on the machine, not in the command line."""

    def test_missing_nvrtc_is_one_line_that_names_it(self):
        done = self.warm("--arch sm_90 --topk 9004,9008 --nvrtc /nonexistent/libnvrtc.so")
        self.assertEqual(done.returncode, 1)
        lines = [l for l in done.stderr.splitlines() if l.startswith("topk-jit-warm:")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn("/nonexistent/libnvrtc.so", lines[0])
        self.ended_early(done.stdout, 2)
        self.assertEqual(self.entries(), {})

    def test_missing_template_directory_is_one_line_that_names_it(self):
        done = self.warm("--arch sm_90 --topk 9004,9008 --template-dir /nonexistent/templates")
        self.assertEqual(done.returncode, 1)
        lines = [l for l in done.stderr.splitlines() if l.startswith("topk-jit-warm:")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn("/nonexistent/templates", lines[0])
        self.assertEqual(self.entries(), {})


if __name__ == "__main__":
    tally.main()
