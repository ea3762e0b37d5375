# SPDX-License-Identifier: Apache-2.0
"""The selection as operators of torch, which torch.compile and torch.export can see.

    topk_jit::select       new indices
    topk_jit::select_out   into tensors that are given
    topk_jit::fast_topk, topk_jit::fast_topk_out

The functions of the package become these by themselves under torch.compile and torch.export; in
eager mode they do without, which is faster. Importing this module imports torch.
"""
from __future__ import annotations

from typing import Any, Optional

import torch

from . import _functions, _native

_INPUTS = (
    "Tensor score, Tensor? lengths, Tensor? row_starts, Tensor? row_ends, Tensor? page_table, "
    "Tensor? page_table_row_starts, Tensor? cu_seqlens_q, Tensor? row_to_batch, "
    "Tensor? topk_indices_offset"
)
_OUTPUTS = (
    "Tensor(a!) out, Tensor(b!)? raw_indices, Tensor(c!)? values, Tensor(d!)? check_counts, "
    "Tensor(e!)? workspace"
)
_CONSTANTS = (
    "str layout, SymInt topk, int page_size, int next_n, int compress_ratio, str index_dtype, "
    "bool sorted, bool deterministic, str? tie_break, bool nan_last, bool pdl, int max_sms"
)
_INPUT_COUNT, _OUTPUT_COUNT, _CONSTANT_COUNT = 9, 5, 12

_library = torch.library.Library("topk_jit", "FRAGMENT")
_tags = [
    getattr(torch.Tag, name)
    for name in ("pt2_compliant_tag", "needs_fixed_stride_order")
    if hasattr(torch.Tag, name)
]


def _define(name: str, schema: str, compute: Any, fake: Any) -> None:
    _library.define(name + schema, tags=_tags)
    for device in ("CPU", "CUDA"):
        _library.impl(name, compute, device)
    torch.library.register_fake(f"topk_jit::{name}", fake, lib=_library)


# ---- select ----


def _compute_select(*arguments: Any) -> torch.Tensor:
    inputs, constants = arguments[:_INPUT_COUNT], arguments[_INPUT_COUNT:]
    outputs = (None,) * _OUTPUT_COUNT
    result: torch.Tensor = _native.select(*inputs, *outputs, *constants, None, None, False)
    return result


def _fake_select(*arguments: Any) -> torch.Tensor:
    score, constants = arguments[0], arguments[_INPUT_COUNT:]
    topk, dtype = constants[1], constants[5]
    return score.new_empty((score.shape[0], topk), dtype=getattr(torch, dtype))


def _compute_select_out(*arguments: Any) -> None:
    _native.select(*arguments, None, None, False)


def _fake_nothing(*arguments: Any) -> None:
    return None


_define("select", f"({_INPUTS}, {_CONSTANTS}) -> Tensor", _compute_select, _fake_select)
_define(
    "select_out",
    f"({_INPUTS}, {_OUTPUTS}, {_CONSTANTS}) -> ()",
    _compute_select_out,
    _fake_nothing,
)


# ---- fast_topk ----


def _compute_fast_topk(values: Any, topk: int, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    return _native.fast_topk(values, topk, dim, None, None, None, None)


def _fake_fast_topk(values: Any, topk: int, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    shape = list(values.shape)
    if shape:
        shape[dim] = topk
    return values.new_empty(shape), values.new_empty(shape, dtype=torch.int64)


def _compute_fast_topk_out(values: Any, topk: int, dim: int, out: Any, indices: Any) -> None:
    _native.fast_topk(values, topk, dim, out, indices, None, None)


_define(
    "fast_topk",
    "(Tensor values, SymInt topk, int dim) -> (Tensor, Tensor)",
    _compute_fast_topk,
    _fake_fast_topk,
)
_define(
    "fast_topk_out",
    "(Tensor values, SymInt topk, int dim, Tensor(a!) out_values, Tensor(b!) out_indices) -> ()",
    _compute_fast_topk_out,
    _fake_nothing,
)


# ---- what the functions of the package call where torch traces ----


def _check_traceable(stream: Any, context: Optional[object]) -> None:
    if stream is not None or context is not None:
        given = "stream" if stream is not None else "context"
        raise TypeError(
            f"{given} is given, expected None in compiled or exported code: it runs on the current "
            "stream with the default context"
        )


def select(*arguments: Any) -> Any:
    """`topk_jit._native.select` by operators; the same arguments."""
    first_constant = _INPUT_COUNT + _OUTPUT_COUNT
    inputs = arguments[:_INPUT_COUNT]
    out, raw_indices, values, check_counts, workspace = arguments[_INPUT_COUNT:first_constant]
    constants = arguments[first_constant : first_constant + _CONSTANT_COUNT]
    stream, context, whole = arguments[first_constant + _CONSTANT_COUNT :]
    _check_traceable(stream, context)
    score, topk = inputs[0], constants[1]
    raw_indices = None if raw_indices is False else raw_indices
    values = None if values is False else values
    no_second = raw_indices is None and values is None
    if out is None and no_second and check_counts is None and workspace is None:
        out = torch.ops.topk_jit.select(*inputs, *constants)
    else:
        shape = (score.shape[0], topk)
        if out is None:
            out = score.new_empty(shape, dtype=getattr(torch, constants[5]))
        if raw_indices is True:
            raw_indices = score.new_empty(shape, dtype=torch.int32)
        if values is True:
            values = score.new_empty(shape)
        outputs = (out, raw_indices, values, check_counts, workspace)
        torch.ops.topk_jit.select_out(*inputs, *outputs, *constants)
    return _functions.Selection(out, raw_indices, values) if whole else out


def fast_topk(*arguments: Any) -> Any:
    """`topk_jit._native.fast_topk` by operators; the same arguments."""
    values, topk, dim, out_values, out_indices, stream, context = arguments
    _check_traceable(stream, context)
    if out_values is None:
        return torch.ops.topk_jit.fast_topk(values, topk, dim)
    torch.ops.topk_jit.fast_topk_out(values, topk, dim, out_values, out_indices)
    return out_values, out_indices


def bind() -> None:
    """Lets the functions of the package ask torch whether it compiles them."""
    compiling = getattr(torch.compiler, "is_dynamo_compiling", torch.compiler.is_compiling)
    _functions.is_compiling = compiling
    _functions.traced_select = select
    _functions.traced_fast_topk = fast_topk
