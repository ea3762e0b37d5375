#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What topk-jit-warm says of its commands is what they do: help, manual page and completions.

Usage: test_warm_commands.py TOPK_JIT_WARM
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import warm_command

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tally  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
SOUND = ROOT / "tests" / "fuzz" / "corpus" / "entry" / "sound-cubin"
OPTION = re.compile(r"^  (?:-(\w),|   ) --([a-z-]+)(?: ([A-Z]+))?(?:  |$)", re.MULTILINE)


def option_rows():
    """The options that the tables in the sources have: name -> has a value."""
    folder = ROOT / "tools" / "warm"
    rows = {}
    for path in [*folder.glob("*.c"), folder / "library_options.h"]:
        found = re.findall(
            r'\{[\s\\]*\.name = "([a-z-]+)",(.*?)\.take =', path.read_text(), re.DOTALL
        )
        rows.update({name: ".argument" in rest for name, rest in found})
    return rows



class CommandsTest(warm_command.WarmTest):
    def run_it(self, *arguments, **options):
        settings = {
            "cwd": self.folder,
            "env": warm_command.clean_environment(),
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
            "timeout": 60,
        }
        command = [str(warm_command.BINARY), *map(str, arguments)]
        return subprocess.run(command, **{**settings, **options})

    def says(self, *arguments):
        done = self.run_it(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def wrong(self, *arguments):
        """The one line that a command line is refused with."""
        done = self.run_it(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Atopk-jit-warm: [^\n]*\n\Z")
        return done.stderr

    def commands(self):
        """All that are listed, and those that are not."""
        listed = self.says("--help").split("Commands;")[1].split("\n\n")[0]
        return re.findall(r"^  ([a-z-]+)", listed, re.MULTILINE)

    def options(self, command):
        """What the help of a command lists: (letter, name, what its value is called)."""
        return OPTION.findall(self.says("help", command))


class Help(CommandsTest):
    def test_overview_lists_every_command_with_its_summary(self):
        text = self.says("--help")
        self.assertGreaterEqual(len(self.commands()), 5)
        for command in ("build", "inspect", "completions", "help"):
            self.assertRegex(text, rf"(?m)^  {command} +\w+")
        for option in ("--cache-dir DIR", "--json", "-v, --verbose", "-h, --help", "--version"):
            self.assertIn(option, text)

    def test_every_way_to_the_overview(self):
        text = self.says("--help")
        for arguments in (["-h"], ["help"], ["--cache-dir", "x", "--help"]):
            self.assertEqual(self.says(*arguments), text)

    def test_every_way_to_the_manual_of_a_command(self):
        for command in self.commands():
            text = self.says("help", command)
            self.assertEqual(self.says(command, "--help"), text)
            self.assertEqual(self.says(command, "-h"), text)
            self.assertTrue(text.startswith(f"Usage: topk-jit-warm {command}"), text)
            self.assertIn("\nExit status:\n  0 ", text)
            self.assertIn("\n  2    the command line", text)

    def test_manual_of_the_default_command_names_what_it_takes(self):
        text = self.says("help", "build")
        for word in ("--arch LIST", "--tie-break", "-j, --jobs N", "native", "\n  3    ", "Examples"):
            self.assertIn(word, text)

    def test_descriptions_say_what_is_not_obvious(self):
        for command, words in (
            ("build", ["obeyed as it is", "version 1 are not read", "fewer if free memory",
                       "\n  4    --dry-run", "not_tried"]),
            ("explain", ["only with -v or --json also its preimage"]),
            ("completions", ["bash, and no other"]),
            ("doctor", ["not of version 1", "TOPK_JIT_RECORD"]),
            ("list", ["elsewhere since the time of the file"]),
        ):
            text = self.says("help", command)
            flat = " ".join(text.split())
            for word in words:
                self.assertIn(word, text if "\n" in word else flat)

    def test_lines_fit_a_terminal(self):
        for command in self.commands():
            for line in self.says("help", command).split("\nExamples:\n")[0].splitlines():
                self.assertLess(len(line), 80, line)

    def test_every_option_of_the_sources_is_listed_by_a_command(self):
        listed = {name for command in self.commands() for _, name, _ in self.options(command)}
        listed.add("version")
        known = set(option_rows())
        self.assertEqual(known, listed)
        self.assertGreater(len(known), 20)

    def test_listed_options_are_taken_and_others_are_refused(self):
        every = option_rows()
        for command in self.commands():
            listed = {name: value for _, name, value in self.options(command)}
            for name in every:
                # where the first is its value, the second keeps the command from running
                refusal = self.run_it(command, f"--{name}", "--help", "--help").stderr
                if name not in listed:
                    self.assertIn(f"unknown option '--{name}'", refusal, command)
                elif listed[name] == "":
                    self.assertEqual(refusal, "", (command, name))
                else:  # "--help" is a good value only of some
                    self.assertNotIn("unknown option", refusal, (command, name))
                    self.assertIn("needs a value", self.wrong(command, f"--{name}"))

    def test_letters_are_their_options(self):
        for command in self.commands():
            for letter, name, value in self.options(command):
                if letter and not value:
                    self.assertEqual(
                        self.says(command, f"-{letter}", "-h"), self.says(command, f"--{name}", "-h")
                    )

    def test_version_belongs_to_no_command(self):
        self.assertRegex(self.says("--version"), r"\Atopk-jit-warm \d+\.\d+\.\d+\n\Z")
        for command in self.commands():
            self.assertIn("'--version'", self.wrong(command, "--version"))


class Names(CommandsTest):
    def test_default_command_may_be_named(self):
        for arguments in (["--topk", "9004"], ["--arch", "sm_90", "--layout", "heap"]):
            self.assertEqual(self.wrong(*arguments), self.wrong("build", *arguments))

    def test_unknown_command_is_told_with_the_nearest(self):
        self.assertIn("'inspct'; did you mean 'inspect'? (expected: build, ", self.wrong("inspct"))
        self.assertIn("did you mean 'build'?", self.wrong("biuld", "--arch", "sm_90"))
        self.assertIn("did you mean 'completions'?", self.wrong("compl"))
        self.assertIn("'compl'; did you mean 'completions'?", self.wrong("help", "compl"))

    def test_unknown_command_that_is_near_none(self):
        for name in ("", "x", "frobnicate", "a" * 5000, "sm_90\n\x1b[2J"):
            self.assertNotIn("did you mean", self.wrong(name))

    def test_operand_that_is_one_too_many_or_none_of_the_known(self):
        self.assertIn("'more'", self.wrong("manual", "more"))
        self.assertIn("'inspect'", self.wrong("help", "build", "inspect"))
        self.assertIn("expected: bash", self.wrong("completions", "tcsh"))
        self.assertIn("SHELL is missing", self.wrong("completions"))

    def test_options_may_follow_operands_up_to_two_dashes(self):
        self.assertIn('"format"', self.says("inspect", SOUND, "--json"))
        done = self.run_it("inspect", "--", "--json")
        self.assertIn("'--json' is no file", done.stderr)


class Manual(CommandsTest):
    def test_it_has_every_command_option_and_exit_status(self):
        text = self.says("manual").replace("\\-", "-")
        for command in self.commands():
            section = text.split(f"\n.SS {command}\n")[1].split("\n.SS ")[0]
            for letter, name, value in self.options(command):
                self.assertIn(f"\\fB--{name}\\fR", section)
                self.assertTrue(letter == "" or f"\\fB-{letter}\\fR, " in text)
                self.assertIn(f"--{name}\\fR" + (f" \\fI{value}\\fR" if value else ""), text)
            for code in re.findall(r"^  (\d+) ", self.says("help", command), re.MULTILINE):
                self.assertIn(f"\\fB{code}\\fR", section)
        self.assertIn("\\fB--version\\fR", text)

    def test_it_has_every_variable_that_the_library_reads(self):
        text = self.says("manual")
        names = set()
        for folder in ("src", "cache", "tools/warm"):
            for path in (ROOT / folder).glob("*.c"):
                names |= set(re.findall(r'"(TOPK_JIT_[A-Z_]+|XDG_[A-Z_]+)"', path.read_text()))
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertIn(name, text)

    @unittest.skipUnless(shutil.which("groff") or shutil.which("mandoc"), "no groff, no mandoc")
    def test_it_is_set_without_a_warning(self):
        checker = ["groff", "-man", "-ww", "-z", "-Tutf8"]
        if not shutil.which("groff"):
            checker = ["mandoc", "-Tlint", "-W", "warning"]
        done = subprocess.run(
            checker, input=self.says("manual"), capture_output=True, text=True, timeout=60
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_no_text_of_it_is_a_request(self):
        for line in self.says("manual").splitlines():
            self.assertRegex(line, r"\A(?!')(?:[^.]|\.(?:TH|SH|SS|TP|PP|RS|RE|nf|fi|br)\b)")


@unittest.skipUnless(shutil.which("bash"), "no bash")
class Targets(warm_command.WarmTest):
    def test_no_number_of_targets_is_too_many(self):
        architectures = [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121]
        words = [f"{kind}_{number}" for kind in ("sm", "compute") for number in architectures]
        for command, status in (("list", 4), ("prune -n", 4), ("pack out.tkp", 4),
                                ("explain topk=9004", 4), ("build -n --nvrtc /missing", 1)):
            done = subprocess.run(
                [str(warm_command.BINARY), *command.split(), "--arch", ",".join(9 * words),
                 "--cache-dir", str(self.cache)],
                cwd=self.folder, env=self.own_environment(), capture_output=True, text=True,
                timeout=60,
            )
            self.assertNotIn("unknown", done.stderr)
            self.assertEqual(done.returncode, status, done.stderr)


class Json(warm_command.WarmTest):
    def test_path_of_any_bytes_is_text(self):
        path = os.fsencode(self.folder) + b"/\xc3(\xff"
        for command in ("list", "explain topk=9004 --arch sm_90", "doctor"):
            done = subprocess.run(
                [str(warm_command.BINARY), *command.split(), "--json", "--cache-dir", path],
                cwd=self.folder, env=self.own_environment(), capture_output=True, timeout=60,
            )
            said = json.loads(done.stdout.decode())
            self.follows(command.split()[0], said)
            self.assertIn("/\u00c3(\u00ff", json.dumps(said, ensure_ascii=False), command)


class Completions(CommandsTest):
    SHELL = """
. ./script
IFS=$'\\n' read -r -d '' -a COMP_WORDS
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
COMP_WORDS[COMP_CWORD]=${COMP_WORDS[COMP_CWORD]%.}
_topk_jit_warm
printf '%s\\n' "${COMPREPLY[@]}"
"""

    def setUp(self):
        super().setUp()
        (self.folder / "script").write_text(self.says("completions", "bash"))

    def completed(self, *words):
        """What a shell offers for the last of the words; the dot keeps an empty one."""
        done = subprocess.run(
            ["bash", "--norc", "-c", self.SHELL],
            input="\n".join(["topk-jit-warm", *words]) + ".",
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(done.stderr, "")
        return done.stdout.split("\n")[:-1] if done.stdout != "\n" else []

    def test_commands(self):
        listed = self.commands()
        self.assertEqual(self.completed(""), listed)
        self.assertEqual(self.completed("insp"), ["inspect"])
        self.assertEqual(self.completed("nothing"), [])
        self.assertEqual(self.completed("help", "insp"), ["inspect"])

    def test_options_of_each_command(self):
        for command in self.commands():
            expected = []
            for letter, name, _ in self.options(command):
                expected += [f"--{name}"] + ([f"-{letter}"] if letter else [])
            self.assertEqual(self.completed(command, "-"), expected)

    def test_options_where_no_command_is_named(self):
        self.assertEqual(self.completed("--ar"), ["--arch"])
        self.assertEqual(self.completed("--arch", "sm_90", "--dt"), ["--dtype"])
        self.assertEqual(self.completed("--vers"), ["--version"])
        self.assertEqual(self.completed("build", "--vers"), [])

    def test_words_of_an_enumeration(self):
        self.assertEqual(self.completed("build", "--dtype", "flo"),
                         ["float32", "float16", "float64"])
        self.assertEqual(self.completed("--layout", "p"), ["plain", "paged"])
        self.assertEqual(self.completed("--arch", "nat"), ["native"])
        self.assertIn("sm_90", self.completed("--arch", ""))

    def test_every_arch_has_the_names_and_only_sets_that_its_command_knows(self):
        for command, sets in (("build", ["native", "all"]), ("explain", ["native"]), ("list", []),
                              ("prune", []), ("pack", [])):
            words = self.completed(command, "--arch", "")
            self.assertEqual(words[:len(sets)], sets)
            self.assertTrue(all(word.startswith("sm_") for word in words[len(sets):]), words)

    def test_words_after_a_comma_and_after_an_equals_sign(self):
        self.assertEqual(self.completed("--dtype", "int32,bf"), ["int32,bfloat16"])
        self.assertEqual(self.completed("build", "--dtype", "=", "bf"), ["bfloat16"])
        self.assertEqual(self.completed("build", "--tie-break", "="),
                         ["none", "smallest", "largest"])

    def test_files_and_directories(self):
        (self.folder / "a file").write_text("")
        (self.folder / "a folder").mkdir()
        self.assertEqual(sorted(self.completed("inspect", "a")), ["a file", "a folder"])
        self.assertEqual(self.completed("build", "--cache-dir", "a"), ["a folder"])
        self.assertEqual(sorted(self.completed("--nvrtc", "a f")), ["a file", "a folder"])

    def test_free_text_and_unknown_commands_have_none(self):
        self.assertEqual(self.completed("build", "--topk", ""), [])
        self.assertEqual(self.completed("build", "-j", ""), [])
        self.assertEqual(self.completed("nothing", ""), [])


class Output(CommandsTest):
    PRINTING = [["--help"], ["--version"], ["help", "build"], ["manual"], ["completions", "bash"],
                ["inspect", SOUND], ["inspect", SOUND, "--json"],
                ["explain", "topk=9004", "--arch", "sm_90"], ["doctor"], ["doctor", "--json"]]

    def test_reader_that_went_away_is_told_nothing(self):
        for arguments in self.PRINTING:
            reader, writer = os.pipe()
            os.close(reader)
            done = self.run_it(*arguments, stdout=writer)
            os.close(writer)
            self.assertEqual((done.returncode, done.stderr), (1, ""), arguments)

    def test_reader_that_reads_nothing(self):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", '"$0" manual | head -n 0', str(warm_command.BINARY)],
            capture_output=True, text=True, timeout=60,
        )
        self.assertIn(done.returncode, (0, 1))  # head may be the slower one
        self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_full_disk_and_closed_stdout_are_failures(self):
        for arguments in self.PRINTING:
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = self.run_it(*arguments, stdout=full)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"\Atopk-jit-warm: [^\n]*stdout\n\Z")
            done = self.run_it(*arguments, preexec_fn=lambda: os.close(1))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, r"\Atopk-jit-warm: [^\n]*stdout\n\Z")

    def test_closed_stdin_and_stderr_change_nothing(self):
        def close():
            os.close(0)
            os.close(2)

        done = self.run_it("inspect", SOUND, preexec_fn=close)
        self.assertEqual((done.returncode, done.stdout), (0, self.says("inspect", SOUND)))
        self.assertEqual(self.run_it("nothing", preexec_fn=close).returncode, 2)


if __name__ == "__main__":
    tally.main()
