# SPDX-License-Identifier: Apache-2.0
import gc
import os
import pathlib
import shutil
import threading
import weakref

import numpy
import pytest
import reference

import topk_jit


@pytest.fixture
def score(random):
    return random.standard_normal((8, 2000)).astype("float32")


def select(score, **options):
    return topk_jit.fast_topk_v2(score, None, 16, deterministic=True, **options)


def test_a_context_of_ones_own(score, tmp_path):
    with topk_jit.Context(cache_dir=tmp_path / "cache", mode="readonly") as context:
        assert numpy.array_equal(select(score, context=context), reference.select(score, 16))
        assert topk_jit.statistics(context).compiles == 0
        assert not context.closed
    assert context.closed and not (tmp_path / "cache").exists()


def test_a_closed_context_is_refused(score):
    context = topk_jit.Context(mode="off")
    context.close()
    context.close()
    for use in (lambda: select(score, context=context), lambda: topk_jit.statistics(context),
                lambda: topk_jit.Selector(4, context=context)):
        with pytest.raises(ValueError, match="context is closed"):
            use()


@pytest.mark.parametrize(
    "options, text",
    [
        ({"mode": "fast"}, "mode is 'fast', expected one of"),
        ({"toolchain": "new"}, "toolchain"),
        ({"shared": "yes"}, "shared"),
        ({"log_level": "loud"}, "log_level"),
        ({"cache_dir": "relative"}, "relative"),
        ({"record_file": "relative"}, "relative"),
    ],
)
def test_a_wrong_option_is_named(options, text):
    with pytest.raises(ValueError, match=text):
        topk_jit.Context(**options)


def test_lists_of_directories_are_joined(tmp_path):
    ro_dirs = [tmp_path / "a", str(tmp_path / "b")]
    with topk_jit.Context(ro_dirs=ro_dirs, cache_dir=tmp_path / "c") as context:
        text = topk_jit.explain(topk_jit.Spec(), "sm_90", context=context)
    assert f"{tmp_path}/a" in text and f"{tmp_path}/b" in text


def test_contexts_are_collected(score):
    class Watched(topk_jit.Context):
        pass

    context = Watched(mode="off", log=lambda level, text: None)
    select(score, context=context)
    seen = weakref.ref(context)
    context.itself = context
    del context
    gc.collect()
    assert seen() is None


def test_threads_share_the_default_context(score):
    """Its first use is a race, in a fresh process; see also the next test."""
    expected, wrong = reference.select(score, 16), []

    def work(seed):
        for _ in range(50):
            if not numpy.array_equal(select(score[: 1 + seed]), expected[: 1 + seed]):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_the_first_calls_may_be_concurrent(run_python):
    script = """
import sys, threading, numpy, topk_jit
sys.setswitchinterval(1e-6)
barrier, done = threading.Barrier(8), []
def work():
    barrier.wait()
    done.append(topk_jit.fast_topk_v2(numpy.eye(4, dtype="float32"), None, 1).tolist())
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
print(done == [[[0], [1], [2], [3]]] * 8)
"""
    assert run_python(script) == "True\n"


def test_garbage_is_collected_while_calls_run(score):
    """With a collection at almost every allocation, on several threads."""
    expected, wrong = reference.select(score, 16), []
    thresholds = gc.get_threshold()
    gc.set_threshold(1)

    def work():
        for _ in range(100):
            cycle = [select(score)]
            cycle.append(cycle)
            if not numpy.array_equal(cycle[0], expected):
                wrong.append(cycle)

    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    finally:
        gc.set_threshold(*thresholds)
    assert not wrong


def test_a_call_on_the_cpu_lets_other_threads_run(score):
    large = numpy.tile(score, (100, 10))
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    select(large)
    during = counted[0] - before
    stop.set()
    thread.join()
    assert during > 0


def test_a_forked_child_computes(score):
    select(score)
    child = os.fork()
    if child == 0:
        right = numpy.array_equal(select(score), reference.select(score, 16))
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_the_interpreter_may_end_anywhere(run_python):
    script = """
import threading, numpy, topk_jit
score = numpy.random.rand(64, 5000).astype("float32")
def work():
    while True:
        topk_jit.fast_topk_v2(score, None, 100)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
topk_jit.fast_topk_v2(score, None, 100)
print("done")
"""
    assert run_python(script) == "done\n"


def test_nothing_but_the_standard_library_is_imported(run_python):
    script = """
import sys
before = set(sys.modules)
import topk_jit
new = {name.partition(".")[0] for name in set(sys.modules) - before} - {"topk_jit"}
print(sorted(name for name in new if name not in sys.stdlib_module_names))
"""
    assert run_python(script) == "[]\n"


def test_a_library_that_is_named_is_the_only_one(run_python):
    script = """
try:
    import topk_jit
except ImportError as error:
    print(error)
"""
    text = run_python(script, TOPK_JIT_LIBRARY="/nowhere/libtopk_jit.so")
    assert "TOPK_JIT_LIBRARY" in text and "/nowhere/libtopk_jit.so" in text


def test_the_source_tree_finds_what_was_built_last(run_python, tmp_path):
    script = "import topk_jit; print(topk_jit.version(), topk_jit._native.__file__)"
    package = tmp_path / "tools" / "python" / "topk_jit"
    package.mkdir(parents=True)
    staged = pathlib.Path(topk_jit.__file__).parent
    for file in staged.glob("*.py"):
        shutil.copy(file, package)
    path = f"{package.parent}:{numpy.__path__[0]}/.."
    with pytest.raises(AssertionError, match="topk_jit is not built"):
        run_python(script, PYTHONPATH=path)
    built = tmp_path / "build" / "dev" / "python" / "topk_jit"
    built.mkdir(parents=True)
    shutil.copy(topk_jit._native.__file__, built)
    shutil.copy(staged.parents[1] / "libtopk_jit.so.0.1", tmp_path / "build" / "dev")
    assert run_python(script, PYTHONPATH=path) == f"0.1.0 {built}/_native.abi3.so\n"


def test_the_versions_agree():
    assert topk_jit.version() == topk_jit.__version__


def test_nvrtc_of_wheels_is_found_without_importing_them(tmp_path, run_python):
    for name in ("cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12", "cu12/lib/other.so"):
        path = tmp_path / "nvidia" / name
        path.parent.mkdir(parents=True)
        path.touch()
    script = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from topk_jit import _library
print(_library.find_nvrtc_folder(), "nvidia" in sys.modules)
"""
    assert run_python(script) == f"{tmp_path}/nvidia/cu13/lib False\n"
