#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times what a call from Python costs on the CPU, in microseconds.

    torch   on a GPU, launches included: the figure that counts is what a call takes beyond the bare
            launch, which `topk-jit-bench --host` measures
    numpy   on the host engine, with rows that are hardly there
    fake    tensors of the tests' module fake_tensor on a libcuda that does nothing: PYTHONPATH has
            the module, LD_LIBRARY_PATH the folder of the stub, such as build/dev/tools/stub_cuda

Each figure is the best of several repetitions: what else the machine does only adds. The package is
found as Python finds it. Exit status: 0, or 3 if what was asked for is not there.
"""
import argparse
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

    def __init__(self, score, lengths, out, table, topk, settle=nothing, empty=None):
        self.score, self.lengths, self.out, self.table = score, lengths, out, table
        self.topk, self.settle, self.empty = topk, settle, empty


def numpy_inputs():
    import numpy

    score = numpy.arange(8, dtype="float32").reshape(1, 8)
    out = numpy.empty((1, 4), "int32")
    table = numpy.zeros((1, 8), "int32")
    empty = lambda: numpy.empty((1, 4), "int32")  # noqa: E731
    return Inputs(score, numpy.array([8], "int32"), out, table, 4, empty=empty)


def fake_inputs():
    import fake_tensor

    new = lambda shape, code, bits: fake_tensor.Tensor(shape, code, bits, True)  # noqa: E731
    empty = lambda: new((4, TOPK), 0, 32)  # noqa: E731
    return Inputs(new((4, 8192), 2, 32), new((4,), 0, 32), empty(), new((4, 128), 0, 32), TOPK,
                  empty=empty)


def torch_inputs():
    import torch

    if not torch.cuda.is_available():
        raise ImportError("torch sees no GPU")
    score = torch.randn(4, 8192, device="cuda")
    lengths = torch.full((4,), 8192, dtype=torch.int32, device="cuda")
    table = torch.zeros((4, 128), dtype=torch.int32, device="cuda")
    empty = lambda: score.new_empty((4, TOPK), dtype=torch.int32)  # noqa: E731
    return Inputs(score, lengths, empty(), table, TOPK, torch.cuda.synchronize, empty)


FRAMEWORKS = {"torch": torch_inputs, "numpy": numpy_inputs, "fake": fake_inputs}


def cases(i):
    """Name and call of everything that is timed."""
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("framework", choices=FRAMEWORKS)
    parser.add_argument("--calls", type=int, default=500, help="in each repetition")
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--json", help="file for the results")
    arguments = parser.parse_args()
    try:
        inputs = FRAMEWORKS[arguments.framework]()
    except ImportError as error:
        print(f"bench_python.py: {error}", file=sys.stderr)
        return 3
    results = {}
    for name, call in cases(inputs):
        results[name] = best_us(call, arguments.calls, arguments.repetitions, inputs.settle)
        print(f"{name:<24}{results[name]:>8.3f}", flush=True)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"framework": arguments.framework, "us": results}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
