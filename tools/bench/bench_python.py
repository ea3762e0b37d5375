#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times what a call from Python costs on the CPU, in microseconds.

    torch   on a GPU, launches included: the figure that counts is what a call takes beyond the bare
            launch, which `topk-jit-bench --host` measures on a stream of its own. Further lines
            leave something out, so that the difference tells what it takes
    torch-empty
            the ways in which torch makes a new tensor on a GPU, alone and in a call
    numpy   on the host engine, with rows that are hardly there
    fake    tensors of the tests' module fake_tensor on a libcuda that does nothing: PYTHONPATH has
            the module, LD_LIBRARY_PATH the folder of the stub, such as build/dev/tools/stub_cuda

Each figure is the best of several repetitions: what else the machine does only adds. The package is
found as Python finds it. Exit status: 0, or 3 if what was asked for is not there.
"""
import argparse
import contextlib
import functools
import json
import sys
import timeit

import topk_jit

TOPK = 2048


def nothing():
    pass


def best_us(function, calls, repetitions, settle):
    for _ in range(100):
        function()
    settle()
    times = []
    for _ in range(repetitions):
        times.append(timeit.timeit(function, number=calls) / calls * 1e6)
        settle()  # so that the launch queue is not full: then a launch would wait for the GPU
    return min(times)


class Inputs:
    """A decode step of tensors that some framework made."""

    def __init__(self, score, lengths, out, table, topk, empty):
        self.score, self.lengths, self.out, self.table = score, lengths, out, table
        self.topk, self.empty = topk, empty


def calls_of(i):
    """Name and call of what is timed with every framework."""
    plain = topk_jit.Selector(i.topk)
    paged = topk_jit.Selector(i.topk, layout="paged", page_size=64)
    v2, fused = topk_jit.fast_topk_v2, topk_jit.fast_topk_transform_fused
    yield "an empty function", nothing
    yield "a new output alone", i.empty
    yield "fast_topk_v2", lambda: v2(i.score, i.lengths, i.topk)
    yield "fast_topk_v2, out=", lambda: v2(i.score, i.lengths, i.topk, out=i.out)
    yield "transform_fused", lambda: fused(i.score, i.lengths, i.table, None, i.topk, page_size=64)
    yield "Selector", lambda: plain(i.score, i.lengths)
    yield "Selector, out=", lambda: plain(i.score, i.lengths, out=i.out)
    yield "Selector paged, out=", lambda: paged(i.score, i.lengths, page_table=i.table, out=i.out)


def numpy_calls():
    import numpy

    score = numpy.arange(8, dtype="float32").reshape(1, 8)
    out = numpy.empty((1, 4), "int32")
    table = numpy.zeros((1, 8), "int32")
    empty = lambda: numpy.empty((1, 4), "int32")  # noqa: E731
    return calls_of(Inputs(score, numpy.array([8], "int32"), out, table, 4, empty))


def fake_calls():
    import fake_tensor

    new = lambda shape, code, bits: fake_tensor.Tensor(shape, code, bits, True)  # noqa: E731
    empty = lambda: new((4, TOPK), 0, 32)  # noqa: E731
    return calls_of(
        Inputs(new((4, 8192), 2, 32), new((4,), 0, 32), empty(), new((4, 128), 0, 32), TOPK, empty)
    )


# ---- torch ----


def import_torch():
    import torch

    if not torch.cuda.is_available():
        raise ImportError("torch sees no GPU")
    return torch


def torch_inputs(torch):
    score = torch.randn(4, 8192, device="cuda")
    lengths = torch.full((4,), 8192, dtype=torch.int32, device="cuda")
    table = torch.zeros((4, 128), dtype=torch.int32, device="cuda")
    empty = lambda: score.new_empty((4, TOPK), dtype=torch.int32)  # noqa: E731
    return Inputs(score, lengths, empty(), table, TOPK, empty)


def torch_calls():
    torch = import_torch()
    i = torch_inputs(torch)
    yield from calls_of(i)
    plain, v2 = topk_jit.Selector(i.topk), topk_jit.fast_topk_v2
    score, lengths, out = i.score, i.lengths, i.out
    own = torch.cuda.Stream()
    handle = own.cuda_stream
    yield "Selector, out=:", None
    yield "  one tensor less", lambda: plain(score, None, out=out)
    yield "  stream=0, as it is", lambda: plain(score, lengths, out=out, stream=0)
    yield "  stream=another", lambda: plain(score, lengths, out=out, stream=handle)
    yield "  stream=Stream", lambda: plain(score, lengths, out=out, stream=own)
    yield "on another stream:", None
    with torch.cuda.stream(own):
        yield "  fast_topk_v2", lambda: v2(score, lengths, i.topk)
        yield "  fast_topk_v2, out=", lambda: v2(score, lengths, i.topk, out=out)
        yield "  Selector", lambda: plain(score, lengths)
        yield "  Selector, out=", lambda: plain(score, lengths, out=out)


    yield from torch_own_calls(torch, i)


def torch_own_calls(torch, i):
    """What torch takes for its own top-k, and for operators that do nothing."""
    score, lengths, out = i.score, i.lengths, i.out
    values, indices = torch.topk(score, TOPK, sorted=False)
    library = torch.library.Library("topk_jit_bench", "DEF")
    library.define("nothing(Tensor score, Tensor lengths, Tensor(a!) out) -> ()")
    library.impl("nothing", lambda score, lengths, out: None, "CUDA")

    @torch.library.custom_op("topk_jit_bench::custom", mutates_args=("out",))
    def custom(score: torch.Tensor, lengths: torch.Tensor, out: torch.Tensor) -> None:
        pass

    bare = torch.ops.topk_jit_bench.nothing
    yield "torch:", None
    yield "  topk", lambda: torch.topk(score, TOPK, sorted=False)
    yield "  topk, out=", lambda: torch.topk(score, TOPK, sorted=False, out=(values, indices))
    yield "  an operator of nothing", lambda: bare(score, lengths, out)
    yield "  a custom_op of nothing", lambda: custom(score, lengths, out)


@contextlib.contextmanager
def torch_allocating(**changes):
    """Types of tensors that are first seen inside are allocated for in another way."""
    from topk_jit import _frameworks

    torch, classify_torch = sys.modules["torch"], _frameworks._torch
    _frameworks._torch = lambda tensor_type: classify_torch(torch.Tensor)._replace(**changes)
    try:
        yield
    finally:
        _frameworks._torch = classify_torch


def torch_empty_calls():
    torch = import_torch()
    i = torch_inputs(torch)
    score, device, int32, shape = i.score, i.score.device, torch.int32, (4, TOPK)
    template, empty = torch.empty(0, dtype=int32, device=device), torch.empty
    by_partial = functools.partial(empty, dtype=int32, device=device)
    aten = torch.ops.aten.empty.memory_format
    yield "an empty function", nothing
    yield "new_empty((4, k))", lambda: score.new_empty((4, TOPK), dtype=int32)
    yield "new_empty(4, k)", lambda: score.new_empty(4, TOPK, dtype=int32)
    yield "new_empty, of a template", lambda: template.new_empty(4, TOPK)
    yield "empty((4, k))", lambda: empty((4, TOPK), dtype=int32, device=device)
    yield "empty(4, k)", lambda: empty(4, TOPK, dtype=int32, device=device)
    yield "empty, a partial", lambda: by_partial(4, TOPK)
    yield "empty, 'cuda'", lambda: empty(4, TOPK, dtype=int32, device="cuda")
    yield "empty_like", lambda: torch.empty_like(i.out)
    yield "empty_strided", lambda: torch.empty_strided(
        shape, (TOPK, 1), dtype=int32, device=device
    )
    yield "aten.empty", lambda: aten(shape, dtype=int32, device=device)
    compiled = torch._C._dynamo.guards._empty_strided_cuda
    yield "_empty_strided_cuda", lambda: compiled(shape, (TOPK, 1), int32)
    yield "_cuda_getDevice", torch._C._cuda_getDevice

    plain, lengths, out = topk_jit.Selector(i.topk), i.lengths, i.out
    yield "Selector:", None
    yield "  out=", lambda: plain(score, lengths, out=out)
    yield "  a new output", lambda: plain(score, lengths)
    ways = {
        "as the package": {},
        "new_empty(4, k)": {"allocate_here": None},
        "new_empty((4, k))": {"allocate_here": None, "takes": 1},
        "exchange API": {"allocate_here": None, "allocate": None},
    }
    yield "of a subclass:", None
    for name, changes in ways.items():
        kind = type("Scores", (torch.Tensor,), {})
        kind.__torch_function__ = torch._C._disabled_torch_function_impl
        scores = score.as_subclass(kind)
        with torch_allocating(**changes):
            plain(scores, lengths)
        yield f"  {name}", lambda scores=scores: plain(scores, lengths)
    yield "  out=", lambda: plain(scores, lengths, out=out)


MODES = {
    "torch": torch_calls,
    "torch-empty": torch_empty_calls,
    "numpy": numpy_calls,
    "fake": fake_calls,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--calls", type=int, default=500, help="in each repetition")
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--json", help="file for the results")
    arguments = parser.parse_args()
    results, title = {}, ""
    try:
        for name, call in MODES[arguments.mode]():
            if call is None:
                title = name
                print(name, flush=True)
                continue
            settle = sys.modules["torch"].cuda.synchronize if "torch" in arguments.mode else nothing
            us = best_us(call, arguments.calls, arguments.repetitions, settle)
            results[f"{title} {name.strip()}" if name.startswith(" ") else name] = us
            print(f"{name:<26}{us:>8.3f}", flush=True)
    except ImportError as error:
        print(f"bench_python.py: {error}", file=sys.stderr)
        return 3
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"mode": arguments.mode, "us": results}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
