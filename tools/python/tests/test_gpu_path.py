# SPDX-License-Identifier: Apache-2.0
"""What happens with tensors on a GPU, on a libcuda and an NVRTC that are not real: in a process of
its own, since a process opens one libcuda."""
import os
import pathlib

import pytest

STUB, NVRTC = (os.environ.get(name) for name in ("TOPK_JIT_TEST_CUDA", "TOPK_JIT_TEST_NVRTC"))
pytestmark = pytest.mark.skipif(
    not (STUB and NVRTC), reason="TOPK_JIT_TEST_CUDA and TOPK_JIT_TEST_NVRTC name no fakes"
)

BEGINNING = """
import fake_tensor, topk_jit

def new(*shape, dtype=(0, 32), device=0):
    return fake_tensor.Tensor(shape, *dtype, True, device)

score, lengths, out = new(4, 300, dtype=(2, 32)), new(4), new(4, 16)
spec = topk_jit.Spec(16)
"""


@pytest.fixture
def run(run_python, tmp_path):
    return lambda script: run_python(
        BEGINNING + script,
        PYTHONPATH=f"{os.environ.get('PYTHONPATH', '')}:{pathlib.Path(__file__).parent}",
        LD_LIBRARY_PATH=str(pathlib.Path(STUB).parent),
        TOPK_JIT_NVRTC=NVRTC,
        TOPK_JIT_CACHE_DIR=str(tmp_path),
    )


def test_a_prepared_call_finds_its_kernels(run):
    assert run("""
before = topk_jit.is_prepared(spec)
topk_jit.prepare(spec)
compiled = topk_jit.statistics().compiles
indices = topk_jit.fast_topk_v2(score, lengths, 16)
topk_jit.Selector(16)(score, lengths, out=out)
print(before, topk_jit.is_prepared(spec), compiled > 0, indices.shape,
      topk_jit.statistics().compiles == compiled)
""") == "False True True (4, 16) True\n"


def test_a_call_prepares_itself(run):
    assert run("""
for _ in range(3):
    topk_jit.fast_topk_v2(score, lengths, 16, out=out)
print(topk_jit.is_prepared(spec), topk_jit.is_prepared(topk_jit.Spec(17)))
""") == "True False\n"


def test_a_selector_and_a_future_prepare(run):
    assert run("""
topk_jit.Selector(16, sorted=True).prepare("float16", "float32")
topk_jit.prepare_async(spec).result()
print(topk_jit.is_prepared(spec, topk_jit.Spec(16, sorted=True, dtype="float16")))
""") == "True\n"


def test_fast_topk_prepares_itself(run):
    assert run("""
values = new(4, 100, dtype=(2, 16))
for _ in range(2):
    result = topk_jit.fast_topk(values, 3, -1)
print(result[0].shape, result[1].shape,
      topk_jit.is_prepared(topk_jit.Spec(3, operation="fast_topk", dtype="float16")))
""") == "(4, 3) (4, 3) True\n"


def test_tensors_of_two_gpus_are_refused(run):
    assert "INVALID_ARGUMENT: lengths" in run("""
try:
    topk_jit.fast_topk_v2(score, new(4, device=1), 16)
except topk_jit.TopkJitError as error:
    print(error)
""")


def test_check_counts_and_workspace_are_on_the_device_of_score(run):
    assert run("""
import numpy
for name, tensor in [("check_counts", numpy.zeros(8, "uint32")),
                     ("workspace", numpy.zeros(64, "uint8"))]:
    try:
        topk_jit.fast_topk_v2(score, lengths, 16, **{name: tensor})
    except ValueError as error:
        print(error)
topk_jit.fast_topk_v2(score, lengths, 16, check_counts=new(8), workspace=new(1024))
""").count("on device (1, 0), expected score's device (2, 0)") == 2


def test_a_long_row_has_a_workspace(run):
    assert int(run("print(topk_jit.workspace_size(new(2, 100000, dtype=(2, 32)), None, 2048))")) > 0


def test_stream_objects_of_every_kind_are_taken(run):
    assert run("""
class Protocol:
    def __cuda_stream__(self):
        return 0, 64
class Torch:
    cuda_stream = 64
class CuPy:
    ptr = 64
for stream in (64, Protocol(), Torch(), CuPy()):
    topk_jit.fast_topk_v2(score, lengths, 16, out=out, stream=stream)
    topk_jit.prepare(spec, stream=stream)
print("taken")
""") == "taken\n"


def test_default_streams_are_launched_on(run):
    assert run("""
for handle in (0, 1, 2):
    fake_tensor.set_stream(handle)
    topk_jit.fast_topk_v2(score, lengths, 16, out=out)
print("launched")
""") == "launched\n"


def test_a_stream_of_another_gpu_is_refused(run):
    assert "stream is one of CUDA device 0, expected one of device 1" in run("""
try:
    topk_jit.fast_topk_v2(new(4, 300, dtype=(2, 32), device=1), new(4, device=1), 16)
except ValueError as error:
    print(error)
""")


def test_a_context_with_kernels_is_closed_or_kept(run):
    assert run("""
import gc
with topk_jit.Context() as context:
    topk_jit.prepare(spec, context=context)
other = topk_jit.Context()
topk_jit.prepare_async(spec, context=other).result()
other.close()
kept = topk_jit.Context()
topk_jit.prepare(spec, context=kept)
del kept
gc.collect()
print("alive")
""") == "alive\n"


def test_a_log_is_handed_on(run):
    lines = run("""
import threading
context = topk_jit.Context(log=lambda level, text: print(level, text), log_level="debug")
threads = [threading.Thread(target=topk_jit.prepare, args=(spec,), kwargs={"context": context})
           for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
""").splitlines()
    assert any(line.startswith("debug ") or line.startswith("info ") for line in lines)


def test_a_context_in_use_is_not_closed(run):
    assert run("""
refused = []
def log(level, text):
    try:
        context.close()
    except RuntimeError as error:
        refused.append(str(error))
context = topk_jit.Context(log=log, log_level="debug")
topk_jit.prepare(spec, context=context)
print(set(refused), context.closed)
context.close()
print(context.closed)
""") == "{'context is in use by another call'} False\nTrue\n"


def test_a_device_is_named_in_many_ways(run):
    assert run("""
for device in (0, "cuda:0", "cuda", None):
    topk_jit.prepare(spec, device=device)
try:
    topk_jit.prepare(spec, device="cpu")
except ValueError as error:
    print(error)
""") == "device is 'cpu', expected a number or 'cuda:N'\n"


def test_results_are_made_on_the_current_gpu_or_beside_the_score(run):
    """By functions as torch has them: one for the current GPU, one for all others."""
    assert run("""
from topk_jit import _frameworks

dtypes = {"int32": (0, 32), "int64": (0, 64), "float32": (2, 32)}
current = 0

def here(*arguments):
    print("here", *arguments)
    return new(*arguments[0], dtype=dtypes[arguments[2]])

def beside(like, *sizes, dtype="float32"):
    print("beside", sizes, dtype)
    return new(*(() if sizes == ((),) else sizes), dtype=dtypes[dtype])

fake_tensor.Tensor.__module__ = "torch"
fake_tensor.Tensor.dtype = "float32"
_frameworks._torch = lambda tensor_type: _frameworks.Framework(
    _frameworks.EXCHANGE, allocate=beside, takes=_frameworks.SIZES, int32={"dtype": "int32"},
    int64={"dtype": "int64"}, allocate_alike=beside, allocate_here=here,
    current_device=lambda: current,
)
for topk in (16, 16, 8):
    topk_jit.fast_topk_v2(score, lengths, topk)
topk_jit.fast_topk(new(3, 5, 7, dtype=(2, 32)), 2, 1)
topk_jit.fast_topk(new(3, 0, 7, dtype=(2, 32)), 2, 2)
topk_jit.fast_topk(new(*[1] * 5, dtype=(2, 32)), 1, 0)
current = 1
topk_jit.fast_topk_v2(score, lengths, 16)
topk_jit.fast_topk(new(dtype=(2, 32)), 1, 0)
""").splitlines() == [
        "here (4, 16) (16, 1) int32",
        "here (4, 16) (16, 1) int32",
        "here (4, 8) (8, 1) int32",
        "here (3, 2, 7) (14, 7, 1) float32",
        "here (3, 2, 7) (14, 7, 1) int64",
        "here (3, 0, 2) (2, 2, 1) float32",
        "here (3, 0, 2) (2, 2, 1) int64",
        "here (1, 1, 1, 1, 1) (1, 1, 1, 1, 1) float32",
        "here (1, 1, 1, 1, 1) (1, 1, 1, 1, 1) int64",
        "beside (4, 16) int32",
        "beside ((),) float32",
        "beside ((),) int64",
    ]


def test_what_a_framework_raises_when_it_allocates_is_raised(run):
    assert run("""
from topk_jit import _frameworks

def fail(*arguments):
    raise MemoryError(arguments)

fake_tensor.Tensor.__module__ = "torch"
framework = _frameworks.Framework(
    _frameworks.EXCHANGE, allocate=lambda *_, **__: 1 // 0, takes=_frameworks.SIZES,
    int32={"dtype": "int32"}, int64={"dtype": "int64"}, allocate_here=fail,
    current_device=lambda: current(),
)
_frameworks._torch = lambda tensor_type: framework
for current in (lambda: 0, lambda: 1, lambda: None, lambda: int("x")):
    try:
        topk_jit.fast_topk_v2(score, lengths, 16)
    except Exception as error:
        print(type(error).__name__)
""").splitlines() == ["MemoryError", "ZeroDivisionError", "TypeError", "ValueError"]


def test_cupy_works_on_its_current_stream(run):
    """A module as CuPy is, on a GPU, from before DLPack 1.0."""
    assert run("""
import contextlib, sys, types
import producers

log = []

class ndarray(producers.OldProducer):
    __module__ = "cupy"
    dtype = "float32"

    def __init__(self, shape, dtype="float32"):
        code = 2 if dtype == "float32" else 0
        super().__init__(new(*shape, dtype=(code, 64 if dtype == "int64" else 32)), (2, 0))
        self.shape = shape

    @property
    def device(self):
        return contextlib.nullcontext(log.append("allocated"))

class Stream:
    ptr = 64

cupy = types.ModuleType("cupy")
cupy.ndarray = cupy.empty = ndarray
cupy.cuda = types.SimpleNamespace(
    Device=lambda number: contextlib.nullcontext(log.append(f"device {number}")),
    get_current_stream=lambda: log.append("stream") or Stream,
)
sys.modules["cupy"] = cupy

score = ndarray((4, 300))
indices = topk_jit.fast_topk_v2(score, ndarray((4,), "int32"), 16)
print(type(indices) is ndarray, indices.shape, log, score.asked)
""") == (
        "True (4, 16) ['allocated', 'device 0', 'stream'] [{'stream': -1}]\n"
    )
