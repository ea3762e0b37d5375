#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times fast_topk of libtopk_jit.so beside torch.topk (k = 1: torch.max) in one process.

Both are captured in CUDA graphs and replayed; a figure is the median of the replays, in
microseconds a call. Ours may be no slower, and twice as fast where torch takes more than 20 us.
Needs torch with CUDA. Exit status: 0, 1 if a result was wrong, 2 for a wrong command line, 3
without torch or a GPU.
"""
import argparse
import ctypes
import json
import statistics
import sys

SHAPES = [(4, 32000), (64, 128256), (256, 129280), (1024, 8192), (4096, 128), (64, 100)]
TOPK = [1, 2, 4, 8, 10, 50, 2048]
DIMS = [-1, 0]
DTYPES = {"float32": (2, 32), "float16": (2, 16), "bfloat16": (4, 16)}  # DLPack's code and bits
INT64 = (0, 64)
CUDA = 2  # DLPack's kDLCUDA

TOLERANCE = 1.03  # beyond the bound: the rest is noise
SLOW_US = 20.0


# ---- the library ----


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Error(ctypes.Structure):
    _fields_ = [
        ("status", ctypes.c_int),
        ("domain", ctypes.c_int),
        ("native_code", ctypes.c_int),
        ("message", ctypes.c_char * 1024),
    ]


def describe(tensor, dtype):
    """A DLTensor of a torch tensor, which must stay alive."""
    numbers = ctypes.c_int64 * tensor.dim()
    return DLTensor(
        tensor.data_ptr(),
        DLDevice(CUDA, tensor.device.index),
        tensor.dim(),
        DLDataType(*dtype, 1),
        numbers(*tensor.shape),
        numbers(*tensor.stride()),
        0,
    )


class Library:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.topk_jit_last_error.restype = ctypes.POINTER(Error)
        self.context = ctypes.c_void_p()
        self.check(self.library.topk_jit_context_create(ctypes.byref(self.context), None))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.library.topk_jit_last_error().contents.message.decode())

    def fast_topk(self, values, topk, dim, out_values, out_indices, stream):
        self.check(
            self.library.topk_jit_fast_topk(
                self.context,
                ctypes.byref(values),
                ctypes.c_int64(topk),
                ctypes.c_int64(dim),
                ctypes.byref(out_values),
                ctypes.byref(out_indices),
                ctypes.c_void_p(stream),
            )
        )

    def close(self):
        self.library.topk_jit_context_destroy(self.context)


# ---- time ----


def capture(torch, call, calls):
    """A graph of so many calls, which were made once before."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    return graph


def replay_us(torch, graph, calls, replays):
    """Median and extremes. Each replay is behind one that is not measured and hides its launch."""
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    times = []
    for _ in range(replays):
        graph.replay()
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1000.0 / calls)
    return statistics.median(times), min(times), max(times)


def time_us(torch, call, calls, replays):
    graph = capture(torch, call, calls)
    return replay_us(torch, graph, calls, replays)


# ---- cases ----


class Case:
    """One shape, dim and k, with outputs for both."""

    def __init__(self, torch, library, shape, dim, topk, dtype):
        self.torch, self.library, self.dim, self.topk = torch, library, dim, topk
        generator = torch.Generator(device="cuda").manual_seed(20253)
        scores = torch.randn(shape, generator=generator, device="cuda")
        self.scores = scores.to(getattr(torch, dtype))
        out_shape = list(shape)
        out_shape[dim] = topk
        self.values = torch.full(out_shape, -7, dtype=self.scores.dtype, device="cuda")
        self.indices = torch.full(out_shape, -7, dtype=torch.int64, device="cuda")
        self.torch_values = torch.empty_like(self.values)
        self.torch_indices = torch.empty_like(self.indices)
        self.tensors = [
            describe(self.scores, DTYPES[dtype]),
            describe(self.values, DTYPES[dtype]),
            describe(self.indices, INT64),
        ]

    def ours(self):
        scores, values, indices = self.tensors
        stream = self.torch.cuda.current_stream().cuda_stream
        self.library.fast_topk(scores, self.topk, self.dim, values, indices, stream)

    def theirs(self):
        out = (self.torch_values, self.torch_indices)
        if self.topk == 1:
            self.torch.max(self.scores, self.dim, keepdim=True, out=out)
        else:
            self.torch.topk(self.scores, self.topk, self.dim, out=out)

    def is_right(self):
        """Descending values as torch has them, at the indices that are said, each once."""
        indices = self.indices.clamp(0, self.scores.shape[self.dim] - 1)
        there = self.torch.gather(self.scores, self.dim, indices)
        ordered = indices.sort(self.dim).values.diff(dim=self.dim)
        return (
            bool((self.values == self.torch_values).all())
            and bool((there == self.values).all())
            and bool((indices == self.indices).all())
            and bool((ordered > 0).all())
        )


def measure(torch, library, arguments, shape, dim, topk):
    case = Case(torch, library, shape, dim, topk, arguments.dtype)
    ours, ours_least, ours_most = time_us(torch, case.ours, arguments.calls, arguments.replays)
    theirs, least, most = time_us(torch, case.theirs, arguments.calls, arguments.replays)
    allowed = 0.5 if theirs > SLOW_US else 1.0
    return {
        "shape": list(shape),
        "dim": dim,
        "topk": topk,
        "dtype": arguments.dtype,
        "us": ours,
        "spread_us": [ours_least, ours_most],
        "torch_us": theirs,
        "torch_spread_us": [least, most],
        "ratio": ours / theirs,
        "allowed": allowed,
        "kept": ours / theirs <= TOLERANCE * allowed,
        "right": case.is_right(),
    }


def cases(arguments):
    for shape in SHAPES:
        for dim in DIMS:
            for topk in TOPK:
                text = f"{shape[0]}x{shape[1]} dim={dim} k={topk} "
                if topk <= shape[dim] and arguments.only in text:
                    yield shape, dim, topk


def show(result):
    rows, columns = result["shape"]
    verdict = "yes" if result["kept"] else "NO"
    if not result["right"]:
        verdict = "WRONG"
    print(
        f"{rows:>5} x {columns:<7} {result['dim']:>3} {result['topk']:>5} {result['us']:>9.2f} "
        f"{result['torch_us']:>9.2f} {result['ratio']:>6.2f} {result['allowed']:>7.1f}  {verdict}",
        flush=True,
    )


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", default="libtopk_jit.so", help="path of libtopk_jit.so")
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="float32")
    parser.add_argument("--only", default="", help="text of the cases, such as 'dim=0 k=50 '")
    parser.add_argument("--calls", type=int, default=20, help="in each graph")
    parser.add_argument("--replays", type=int, default=15, help="of each graph")
    parser.add_argument("--json", help="file for the results")
    return parser.parse_args()


def main():
    arguments = parse()
    try:
        import torch
    except ImportError as error:
        print(f"bench_torch.py: {error}", file=sys.stderr)
        return 3
    if not torch.cuda.is_available():
        print("bench_torch.py: torch sees no GPU", file=sys.stderr)
        return 3
    torch.zeros(1, device="cuda")  # makes the context that the library then uses
    library = Library(arguments.library)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; microseconds a call")
    print(f"{'shape':<15} {'dim':>3} {'k':>5} {'ours':>9} {'torch':>9} {'ratio':>6} {'allowed':>7}")
    results = []
    for case in cases(arguments):
        results.append(measure(torch, library, arguments, *case))
        show(results[-1])
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"gpu": torch.cuda.get_device_name(), "cases": results}, file, indent=1)
    kept = sum(result["kept"] for result in results)
    wrong = sum(not result["right"] for result in results)
    print(f"{kept} of {len(results)} within bounds, {wrong} wrong")
    torch.cuda.synchronize()
    library.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
