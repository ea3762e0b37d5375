# SPDX-License-Identifier: Apache-2.0
"""What each framework's tensors are read, allocated and streamed with.

Asked once for each type of tensor; the answer is kept in C. Frameworks are never imported: a tensor
of theirs shows that they are there.
"""
from __future__ import annotations

import sys
from typing import Any, Callable, NamedTuple, Optional

# How a tensor is read, as in native/framework.h.
EXCHANGE, ARRAY_STRUCT, FUNCTION, DLPACK, TRACED = range(5)

# What `allocate` takes before its keywords, likewise.
SHAPE, LIKE, SIZES = range(3)


class Framework(NamedTuple):
    """Answer of `classify`; the order is that of native/framework.c."""

    how: int
    exporter: Optional[Callable[[Any], Any]] = None
    stream: Optional[Callable[[int], int]] = None
    allocate: Optional[Callable[..., Any]] = None
    takes: int = SHAPE
    int32: Optional[dict[str, Any]] = None
    int64: Optional[dict[str, Any]] = None
    allocate_alike: Optional[Callable[..., Any]] = None
    allocate_here: Optional[Callable[[tuple[int, ...], tuple[int, ...], Any], Any]] = None
    current_device: Optional[Callable[[], int]] = None
    wrap: Optional[Callable[[Any], Any]] = None
    immutable: bool = False


def _numpy() -> Framework:
    numpy = sys.modules["numpy"]
    return Framework(
        ARRAY_STRUCT,
        allocate=numpy.empty,
        int32={"dtype": numpy.dtype("int32")},
        int64={"dtype": numpy.dtype("int64")},
        allocate_alike=lambda like, shape: numpy.empty(shape, like.dtype),
    )


def _torch_allocation(torch: Any, tensor_type: Any) -> dict[str, Any]:
    """How results are made. All there is about it is here; what else could be is timed by
    ``tools/bench/bench_python.py torch-empty``.

    On the current GPU by what the code that torch compiles allocates with: the memory is of the
    same allocator, the tensor is like any other, and no operator is dispatched. It makes plain
    tensors, so that subclasses are left to new_empty(), and so is what is on another GPU or on the
    CPU, or a torch that has no such function. new_empty() is given sizes and no tuple of them: of
    what is in a tuple torch 2.11 asks for a __torch_function__, and drops the exception.

    Not by the exchange API: a tensor that came through DLPack is not known to torch's allocator as
    one of its own. record_stream() on it does nothing, so that its memory may be given to another
    tensor while a stream still works on it, and it cannot be resized.
    """
    here: dict[str, Any] = {}
    if tensor_type in (torch.Tensor, torch.nn.Parameter):
        guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
        allocate = getattr(guards, "_empty_strided_cuda", None)
        current = getattr(torch._C, "_cuda_getDevice", None)
        if allocate is not None and current is not None:
            here = {"allocate_here": allocate, "current_device": current}
    return {
        "allocate": torch.Tensor.new_empty,
        "takes": SIZES,
        "int32": {"dtype": torch.int32},
        "int64": {"dtype": torch.int64},
        "allocate_alike": torch.Tensor.new_empty,
        **here,
    }


def _torch(tensor_type: Any) -> Framework:
    torch = sys.modules["torch"]
    from . import torch_ops  # registers the operators

    torch_ops.bind()
    if tensor_type.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        return Framework(TRACED)
    raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return Framework(
        EXCHANGE,  # or, before torch 2.10, what it has instead
        exporter=torch.utils.dlpack.to_dlpack,
        stream=raw_stream or (lambda device: torch.cuda.current_stream(device).cuda_stream),
        **_torch_allocation(torch, tensor_type),
    )


def _cupy() -> Framework:
    cupy = sys.modules["cupy"]

    def allocate(like: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
        with like.device:
            return cupy.empty(shape, like.dtype if dtype is None else dtype)

    def stream(device: int) -> int:
        with cupy.cuda.Device(device):
            return int(cupy.cuda.get_current_stream().ptr)

    return Framework(
        DLPACK,
        stream=stream,
        allocate=allocate,
        takes=LIKE,
        int32={"dtype": "int32"},
        int64={"dtype": "int64"},
        allocate_alike=allocate,
    )


def _jax() -> Framework:
    """JAX has no stream to work on and its arrays are immutable: __dlpack__() waits until an array
    is there, results are written to new memory of NumPy's and become an array without a copy."""
    jax = sys.modules["jax"]

    def allocate(like: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
        if like.__dlpack_device__()[0] != 1:
            raise TypeError(
                "out is not given, expected a tensor of another framework on the same GPU: what is "
                "written to a JAX array there cannot be ordered with JAX's own work"
            )
        import numpy

        return numpy.empty(shape, like.dtype if dtype is None else dtype)

    return Framework(
        FUNCTION,
        exporter=lambda array: array.__dlpack__(),
        allocate=allocate,
        takes=LIKE,
        int32={"dtype": "int32"},
        int64={"dtype": "int64"},
        allocate_alike=allocate,
        wrap=jax.numpy.asarray,
        immutable=True,
    )


def classify(tensor_type: type, argument: str) -> Framework:
    """What is known about a type of tensors.

    Raises:
        TypeError: it is none; ``argument`` is named.
    """
    for base in tensor_type.__mro__:
        root, name = base.__module__.partition(".")[0], base.__name__
        if root == "numpy" and name == "ndarray":
            return _numpy()
        if root == "torch" and name == "Tensor":
            return _torch(tensor_type)
        if root == "cupy" and name == "ndarray":
            return _cupy()
        if root in ("jax", "jaxlib") and hasattr(tensor_type, "__dlpack__"):
            return _jax()
    if hasattr(tensor_type, "__dlpack_c_exchange_api__"):
        return Framework(EXCHANGE)
    if hasattr(tensor_type, "__dlpack__"):
        return Framework(DLPACK)
    if hasattr(tensor_type, "__array_struct__"):
        return Framework(ARRAY_STRUCT)
    raise TypeError(
        f"{argument} is of type {tensor_type.__qualname__}, expected a tensor: of torch, NumPy, "
        "CuPy or JAX, or anything that has __dlpack__"
    )


def stream_handle(stream: Any) -> int:
    """The handle in a stream object of any framework."""
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):
        handle = getattr(stream, name, None)
        if handle is not None:
            return int(handle)
    raise TypeError(
        f"stream is {stream!r}, expected a CUDA stream: its handle as an integer, or an object of "
        "torch, CuPy or with __cuda_stream__"
    )


def device_number(device: Any) -> int:
    """A device as a number: 1, "cuda:1", torch.device("cuda", 1); -1 is the current one."""
    if device is None:
        return -1
    if isinstance(device, int):
        return device
    kind, _, index = str(device).partition(":")
    if kind != "cuda" or (index and not index.isdigit()):
        raise ValueError(f"device is {device!r}, expected a number or 'cuda:N'")
    return int(index) if index else -1
