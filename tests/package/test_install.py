#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The installed package serves users after its prefix was moved, and so does the source tree.

test_install.py BUILD FAKE_CUDA FAKE_NVRTC: installs what is built in BUILD, moves it, and builds
the project tests/consumer with it in every way that users have.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import tally  # noqa: E402

BUILD, FAKE_CUDA, FAKE_NVRTC = map(pathlib.Path, sys.argv[1:4])
del sys.argv[1:4]

CONSUMER = ROOT / "tests" / "consumer"
WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror".split()
DECODED = "100 steps of 3 streams on the host, 0 wrong\n"
LIBRARIES = ["topk_jit", "topk_jit_static"]


def cached(name):
    """A variable of BUILD's cache."""
    text = (BUILD / "CMakeCache.txt").read_text()
    return re.search(rf"^{name}:\w+=(.*)$", text, re.MULTILINE).group(1)


def environment(**additional):
    """Without the caller's hints at other installations, and without a GPU."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return {**kept, "CUDA_VISIBLE_DEVICES": "", **additional}


def run(*command, **options):
    options.setdefault("env", environment())
    command = [str(word) for word in command]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, **options
    )


def must(*command, **options):
    done = run(*command, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


class Installed(unittest.TestCase):
    """A prefix that was moved after the installation, to a path with a space."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="topk-jit-package-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.prefix = cls.folder / "moved here"
        must("cmake", "--install", BUILD, "--prefix", cls.folder / "first")
        (cls.folder / "first").rename(cls.prefix)
        cls.bin = cls.prefix / cached("CMAKE_INSTALL_BINDIR")
        cls.lib = cls.prefix / cached("CMAKE_INSTALL_LIBDIR")

    def configure(self, name, *arguments, source=CONSUMER, prefix=None):
        """A build folder of this name, and what CMake said."""
        build = self.folder / name
        command = ["cmake", "-G", cached("CMAKE_GENERATOR"), "-S", source, "-B", build]
        command += [f"-DCMAKE_{l}_COMPILER={cached(f'CMAKE_{l}_COMPILER')}" for l in ("C", "CXX")]
        command += [f"-DCMAKE_PREFIX_PATH={prefix or self.prefix}", *arguments]
        return build, run(*command)

    def must_build(self, name, *arguments):
        build, done = self.configure(name, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        must("cmake", "--build", build)
        return build

    def must_serve(self, build):
        """The programs that tests/consumer builds do what they should."""
        for library in LIBRARIES:
            self.assertEqual(must(build / f"decode_loop-{library}"), DECODED)
            self.assertEqual(must(build / f"largest-{library}"), "3 1\n")
        must(build / "two_copies", build / "libplugin.so")


class Files(Installed):
    def names(self, folder):
        return sorted(p.name for p in (self.prefix / folder).iterdir())

    def test_headers_libraries_templates_and_command_are_there_and_nothing_else(self):
        self.assertEqual(self.names("include"), ["topk_jit"])
        self.assertEqual(self.names("include/topk_jit"), ["export.h", "topk_jit.h", "version.h"])
        self.assertEqual(self.names(self.bin), ["topk-jit-warm"])
        self.assertEqual(
            self.names("share/topk_jit"), ["kernel_templates", "manifest.schema.json"]
        )
        templates = [p.name for p in (ROOT / "kernel_templates").glob("*.*") if p.suffix != ".md"]
        self.assertEqual(self.names("share/topk_jit/kernel_templates"), sorted(templates))
        version = cached("CMAKE_PROJECT_VERSION")
        names = ["cmake", "libtopk_jit.a", "libtopk_jit.so", "pkgconfig"]
        names += [f"libtopk_jit.so.{version}", f"libtopk_jit.so.{version.rpartition('.')[0]}"]
        self.assertEqual(self.names(self.lib), sorted(names))

    def test_manual_page_and_completions_of_the_command_are_those_that_it_prints(self):
        command = self.bin / "topk-jit-warm"
        for printed, folder, name in (
            (["manual"], (cached("CMAKE_INSTALL_MANDIR") or "share/man") + "/man1",
             "topk-jit-warm.1"),
            (["completions", "bash"],
             (cached("CMAKE_INSTALL_DATADIR") or "share") + "/bash-completion/completions",
             "topk-jit-warm"),
        ):
            self.assertEqual(self.names(folder), [name])
            self.assertEqual((self.prefix / folder / name).read_text(), must(command, *printed))

    def test_schema_of_manifests_is_the_one_of_the_source(self):
        self.assertEqual(
            (self.prefix / "share/topk_jit/manifest.schema.json").read_text(),
            (ROOT / "tools/warm/manifest.schema.json").read_text(),
        )

    def test_what_is_read_as_text_names_no_place_of_this_machine(self):
        read = [p for p in self.prefix.rglob("*") if p.suffix in (".cmake", ".pc", ".h")]
        read += (self.prefix / "share").rglob("topk-jit-warm*")
        self.assertGreaterEqual(len(read), 8)
        for path in read:
            for place in (ROOT, BUILD, self.folder / "first"):
                self.assertNotIn(str(place), path.read_text(), path)


class CMake(Installed):
    def test_programs_with_either_library_are_built_and_run(self):
        build = self.must_build("with cmake")
        self.must_serve(build)
        readelf = cached("CMAKE_READELF")
        needed = {
            library: must(readelf, "--dynamic", build / f"decode_loop-{library}")
            for library in LIBRARIES
        }
        self.assertIn("[libtopk_jit.so.", needed["topk_jit"])
        self.assertNotIn("libtopk_jit", needed["topk_jit_static"])
        self.assertNotIn("topk_jit_", must(cached("CMAKE_NM"), "-D", build / "libplugin.so"))

    def ask(self, name, text, *arguments, prefix=None):
        """What a project that is just this text says."""
        source = self.folder / f"{name} source"
        source.mkdir()
        begin = "cmake_minimum_required(VERSION 3.24)\nproject(asking LANGUAGES C)\n"
        (source / "CMakeLists.txt").write_text(begin + text)
        return self.configure(name, *arguments, source=source, prefix=prefix)[1]

    def test_a_version_is_accepted_if_its_programs_would_run(self):
        major, minor, patch = map(int, cached("CMAKE_PROJECT_VERSION").split("."))
        accepted = ["", f"{major}.{minor}", f"{major}.{minor}.{patch}"]
        accepted += [f"{major}.{minor}.{patch} EXACT", f"{major}.{minor}...<{major}.{minor + 1}"]
        refused = [f"{major}.{minor + 1}", f"{major + 1}.0", f"{major}.{minor}.{patch + 1}"]
        refused += [f"{major}.{minor + 1}...{major}.{minor + 2}"]
        if major == 0:
            refused += [f"0.{minor - 1}"] if minor > 0 else []
        text = ""
        for version in accepted + refused:
            text += "unset(topk_jit_DIR CACHE)\n"
            text += f"find_package(topk_jit {version} QUIET)\n"
            text += f'message(STATUS "[{version}] ${{topk_jit_FOUND}}")\n'
        done = self.ask("versions", text)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = dict(re.findall(r"\[(.*)\] (\d)", done.stdout))
        self.assertEqual(said, {**{v: "1" for v in accepted}, **{v: "0" for v in refused}})

    def test_without_dlpack_it_is_not_found_and_says_what_to_install(self):
        # looked for nowhere but in the prefix, where it is not
        text = "set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)\n"
        text += "set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)\n"
        done = self.ask("no dlpack", text + "find_package(topk_jit REQUIRED)\n")
        self.assertNotEqual(done.returncode, 0)
        said = " ".join(done.stderr.split())
        self.assertIn("includes dlpack/dlpack.h, which was not found", said)
        self.assertIn("libdlpack-dev", said)
        self.assertIn("TOPK_JIT_DLPACK_INCLUDE", said)

    def test_a_target_of_dlpack_is_preferred(self):
        text = "add_library(dlpack INTERFACE)\nadd_library(dlpack::dlpack ALIAS dlpack)\n"
        text += "find_package(topk_jit REQUIRED)\n"
        text += "get_target_property(libraries topk_jit::topk_jit INTERFACE_LINK_LIBRARIES)\n"
        text += 'message(STATUS "[${libraries}] [${TOPK_JIT_DLPACK_INCLUDE}]")\n'
        done = self.ask("own dlpack", text)
        self.assertIn("[dlpack::dlpack] []", done.stdout, done.stderr)

    def test_a_component_that_is_not_there_is_named(self):
        partial = self.folder / "partial"
        shutil.copytree(self.prefix, partial, symlinks=True)
        for path in partial.rglob("topk_jit-static-targets*.cmake"):
            path.unlink()
        done = self.ask("component", "find_package(topk_jit REQUIRED COMPONENTS static)\n",
                        prefix=partial)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("its component static is not installed", " ".join(done.stderr.split()))
        done = self.ask("no component", "find_package(topk_jit REQUIRED)\n", prefix=partial)
        self.assertEqual(done.returncode, 0, done.stderr)


@unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
class PkgConfig(Installed):
    def ask(self, *arguments):
        place = environment(PKG_CONFIG_PATH=str(self.lib / "pkgconfig"))
        return shlex.split(must("pkg-config", *arguments, "topk_jit", env=place))

    def build(self, name, language, standard, *sources):
        """The program linked with the shared library, and with the static one."""
        compiler = [cached(f"CMAKE_{language}_COMPILER"), f"-std={standard}", *WARNINGS]
        dlpack = [f"-isystem{cached('TOPK_JIT_DLPACK_INCLUDE')}"]
        if dlpack == ["-isystem/usr/include"]:
            dlpack = []
        compiler += [*self.ask("--cflags"), *dlpack]
        programs = {library: self.folder / f"{name}-{library}" for library in LIBRARIES}
        must(*compiler, *sources, "-o", programs["topk_jit"], *self.ask("--libs"), "-ldl")
        static = [
            "-l:libtopk_jit.a" if word == "-ltopk_jit" else word
            for word in self.ask("--static", "--libs")
        ]
        must(*compiler, *sources, "-o", programs["topk_jit_static"], *static)
        return programs

    def must_say(self, programs, expected):
        place = environment(LD_LIBRARY_PATH=str(self.lib))
        self.assertEqual(must(programs["topk_jit"], env=place), expected)
        self.assertEqual(must(programs["topk_jit_static"]), expected)
        self.assertNotEqual(run(programs["topk_jit"]).returncode, 0)  # it was the shared one

    def test_c11_programs_with_either_library_are_built_and_run(self):
        sources = [CONSUMER / "decode_loop.c", CONSUMER / "server.c"]
        self.must_say(self.build("decode_loop", "C", "c11", *sources), DECODED)

    def test_cxx11_programs_with_either_library_are_built_and_run(self):
        self.must_say(self.build("largest", "CXX", "c++11", CONSUMER / "largest.cpp"), "3 1\n")

    def test_version_is_that_of_the_project(self):
        self.assertEqual(self.ask("--modversion"), [cached("CMAKE_PROJECT_VERSION")])


class Places(Installed):
    """Library and command find templates and kernels below the prefix, wherever it is."""

    def setUp(self):
        self.cache = self.prefix / "share" / "topk_jit" / "cache"
        self.templates = self.prefix / "share" / "topk_jit" / "kernel_templates"
        self.addCleanup(shutil.rmtree, self.cache, ignore_errors=True)

    def compile(self, name, *libraries):
        program = self.bin / name
        self.addCleanup(program.unlink, missing_ok=True)
        include = [self.prefix / "include", ROOT / "tests" / "support"]
        include += [cached("TOPK_JIT_DLPACK_INCLUDE")]
        must(cached("CMAKE_C_COMPILER"), ROOT / "tests" / "package" / "moved.c", "-o", program,
             *[f"-I{folder}" for folder in include], *libraries, "-pthread", "-ldl")
        return program

    def warm(self):
        must(self.bin / "topk-jit-warm", "--cache-dir", self.cache, "--arch", "sm_90",
             "--topk", "9001", "--dtype", "float32", "--layout", "plain",
             env=environment(TOPK_JIT_NVRTC=str(FAKE_NVRTC)))

    def must_follow_the_prefix(self, program):
        place = environment(
            LD_LIBRARY_PATH=f"{FAKE_CUDA.parent}:{self.lib}",
            TOPK_JIT_MODE="offline",
            TOPK_JIT_CACHE_DIR=str(self.folder / "no cache"),
        )
        self.assertEqual(must(program, env=place), "OFFLINE_MISS, 0 read from the installation\n")
        self.warm()
        self.assertEqual(must(program, env=place), "OK, 1 read from the installation\n")
        params = self.templates / "params.h"
        original = params.read_text()
        self.addCleanup(params.write_text, original)
        params.write_text(original + "/* another set of templates: other keys */\n")
        self.assertEqual(must(program, env=place), "OFFLINE_MISS, 0 read from the installation\n")
        self.warm()
        self.assertEqual(must(program, env=place), "OK, 1 read from the installation\n")

    def test_of_the_shared_library(self):
        self.must_follow_the_prefix(self.compile("shared", f"-L{self.lib}", "-ltopk_jit"))

    def test_of_a_program_in_the_prefix_with_the_static_library(self):
        self.must_follow_the_prefix(self.compile("static", self.lib / "libtopk_jit.a"))


class SourceTree(Installed):
    def test_serves_by_add_subdirectory_and_adds_nothing_else_to_a_project(self):
        settings = ("CUDA", "NVRTC", "XXHASH", "DLPACK")
        build = self.must_build(
            "subdirectory",
            f"-DTOPK_JIT_SOURCE={ROOT}",
            *[f"-DTOPK_JIT_{s}_INCLUDE={cached(f'TOPK_JIT_{s}_INCLUDE')}" for s in settings],
        )
        self.must_serve(build)
        self.assertEqual(list(build.rglob("topk-jit-*")), [], "tools were built")
        self.assertNotIn("Total Tests: 1", must("ctest", "--test-dir", build, "-N"))
        must("cmake", "--install", build, "--prefix", self.folder / "installed")
        self.assertFalse((self.folder / "installed").exists(), "something was installed")


if __name__ == "__main__":
    tally.main()
