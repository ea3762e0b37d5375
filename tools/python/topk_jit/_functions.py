# SPDX-License-Identifier: Apache-2.0
"""The selection: the four functions of its source, and one that has every input and option."""
from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Optional, Protocol, TypeVar, Union

from . import _native
from ._context import Context, prepare
from ._spec import IndexDtype, Layout, Spec, TieBreak


class SupportsDLPack(Protocol):
    """A tensor or array of any framework."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __dlpack_device__(self) -> tuple[Any, Any]: ...


Tensor = TypeVar("Tensor", bound=SupportsDLPack)
AnyTensor = SupportsDLPack


class Selection(NamedTuple):
    """Result of `select`.

    Attributes:
        indices: (R, topk) int32 or int64: the positions as the layout writes them.
        raw_indices: (R, topk) int32: the positions in the row's window, slot by slot beside
            ``indices``; None unless asked for.
        values: (R, topk) in the dtype of score: the scores, padded with -inf; None unless asked
            for.
    """

    indices: Any
    raw_indices: Any
    values: Any


# Both are replaced by torch_ops.bind() once torch is there: Dynamo, which cannot look into C, takes
# the first one for True and follows the second one to an operator that it knows.
def is_compiling() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.compiler.is_dynamo_compiling())


def traced_select(*arguments: Any) -> Any:
    from . import torch_ops

    return torch_ops.select(*arguments)


def traced_fast_topk(*arguments: Any) -> Any:
    from . import torch_ops

    return torch_ops.fast_topk(*arguments)


def fast_topk(
    values: Tensor,
    topk: int,
    dim: int,
    *,
    out: Optional[tuple[AnyTensor, AnyTensor]] = None,
    stream: Any = None,
    context: Optional[Context] = None,
) -> tuple[Tensor, Tensor]:
    """The topk largest elements along one dimension, in descending order.

    Deterministic: of equal values those at the smallest indices are taken and come first. NaN is
    the greatest value. Values are copied bit for bit.

    Args:
        values: 0 to 64 dimensions, float32, float16, bfloat16, float64, int32 or int64, any
            strides.
        topk: 1 to the size of ``dim``.
        dim: counts from the end if negative.
        out: values and indices to write to, instead of new ones: the shape of ``values`` with topk
            in place of the size of ``dim``, its dtype and int64.
        stream: a CUDA stream or its handle; default: the framework's current one. None on a CPU.
        context: a `Context` instead of the default one.

    Returns:
        (values, indices), as torch.topk; for topk == 1 as torch.max with the dimension kept.

    Raises:
        InvalidArgumentError: a shape, dtype, device, stride or number is wrong; the message says
            which and what is expected. Nothing was written.
        TypeError: an argument is no tensor.
        TopkJitError: of the kinds that `prepare` raises, if it was not prepared.
    """
    out_values, out_indices = (None, None) if out is None else out
    if is_compiling():
        return traced_fast_topk(values, topk, dim, out_values, out_indices, stream, context)
    return _native.fast_topk(values, topk, dim, out_values, out_indices, stream, context)


def fast_topk_v2(
    score: Tensor,
    lengths: Optional[AnyTensor],
    topk: int,
    row_starts: Optional[AnyTensor] = None,
    *,
    row_ends: Optional[AnyTensor] = None,
    next_n: int = 1,
    compress_ratio: int = 1,
    out: Optional[AnyTensor] = None,
    raw_indices: Optional[AnyTensor] = None,
    values: Optional[AnyTensor] = None,
    index_dtype: IndexDtype = "int32",
    sorted: bool = False,
    deterministic: bool = False,
    tie_break: Optional[TieBreak] = None,
    nan_last: bool = False,
    check_counts: Optional[AnyTensor] = None,
    workspace: Optional[AnyTensor] = None,
    pdl: bool = False,
    max_sms: int = 0,
    stream: Any = None,
    context: Optional[Context] = None,
) -> Tensor:
    """Positions of the topk largest scores of every row.

    Exact for any data. On a GPU one kernel is enqueued on the stream, which may be captured once
    the spec was prepared; on a CPU the result is there when the call returns. NaN is the greatest
    score and -inf an ordinary one.

    Args:
        score: (B, L) float32, float16 or bfloat16; stride(1) == 1, any stride(0) >= 0.
        lengths: (B) int32, or None: how many columns of each row count, from the row's start on;
            clamped to what the row has. With ``next_n`` also (batch, next_n), (B, 1) or (batch).
        topk: 1 or more; may exceed L.
        row_starts: (B) int32: first column of the row's window; default 0.
        row_ends: (B) int32: end of the window, instead of ``lengths``.
        next_n: speculative tokens per request: B == batch * next_n.
        compress_ratio: divides the lengths, rounding down.
        out: (R, topk) int32 or int64 with R >= B to write to, instead of a new tensor; rows from B
            on become -1.
        raw_indices: (R, topk) int32 that is also written: the positions in the window.
        values: (R, topk) in the dtype of score that is also written: the scores, padded with -inf.
        index_dtype: of a new result, ``"int32"`` or ``"int64"``.
        sorted: slots in descending score, equal scores by ascending position.
        deterministic: a row's output depends on its window, topk, dtype and options alone.
        tie_break: which of the scores equal to the k-th are taken: any, those at the
            ``"smallest"`` or at the ``"largest"`` positions.
        nan_last: NaN sorts below -inf, instead of above +inf.
        check_counts: 8 uint32 or int32 on the device of score, to which bad inputs are added; see
            `format_check_counts`.
        workspace: memory on the device of score, 256-byte aligned, not shared by calls that may
            overlap; see `workspace_size`.
        pdl: launch with programmatic stream serialisation (sm_90 and later).
        max_sms: at most so many multiprocessors are used; 0: all.
        stream: a CUDA stream or its handle; default: the framework's current one. None on a CPU.
        context: a `Context` instead of the default one.

    Returns:
        (B, topk) int32, of the framework and on the device of score, or ``out``: positions
        relative to the row's start; each row has topk slots: first those of its min(topk, length)
        largest scores, then -1. When a row has no more than topk columns, its positions are in
        ascending order; otherwise the order is open unless an option asks for one.

    Raises:
        InvalidArgumentError: a shape, dtype, device, stride or number is wrong; the message says
            which and what is expected. Nothing was enqueued or written.
        NotPreparedError: the stream is being captured and `prepare` was not called before.
        TypeError: an argument is no tensor, or ``out`` is needed.
        TopkJitError: of the kinds that `prepare` raises, if it was not prepared.
    """
    if is_compiling():
        return traced_select(
            score, lengths, row_starts, row_ends, None, None, None,
            None, None, out, raw_indices, values, check_counts, workspace,
            "plain", topk, 0, next_n, compress_ratio, index_dtype, sorted, deterministic,
            tie_break, nan_last, pdl, max_sms, stream, context, False,
        )
    return _native.select(
        score, lengths, row_starts, row_ends, None, None, None,
        None, None, out, raw_indices, values, check_counts, workspace,
        "plain", topk, 0, next_n, compress_ratio, index_dtype, sorted, deterministic,
        tie_break, nan_last, pdl, max_sms, stream, context, False,
    )


def fast_topk_transform_fused(
    score: Tensor,
    lengths: Optional[AnyTensor],
    page_table_size_1: AnyTensor,
    cu_seqlens_q: Optional[AnyTensor],
    topk: int,
    row_starts: Optional[AnyTensor] = None,
    *,
    page_size: int = 1,
    row_to_batch: Optional[AnyTensor] = None,
    page_table_row_starts: Optional[AnyTensor] = None,
    row_ends: Optional[AnyTensor] = None,
    next_n: int = 1,
    compress_ratio: int = 1,
    out: Optional[AnyTensor] = None,
    raw_indices: Optional[AnyTensor] = None,
    values: Optional[AnyTensor] = None,
    index_dtype: IndexDtype = "int32",
    sorted: bool = False,
    deterministic: bool = False,
    tie_break: Optional[TieBreak] = None,
    nan_last: bool = False,
    check_counts: Optional[AnyTensor] = None,
    workspace: Optional[AnyTensor] = None,
    pdl: bool = False,
    max_sms: int = 0,
    stream: Any = None,
    context: Optional[Context] = None,
) -> Tensor:
    """Slots in a paged KV cache of the topk largest scores of every row.

    Position p of row i becomes ``table[b, start + p // page_size] * page_size + p % page_size``,
    where b is the row's batch and start its ``page_table_row_starts``. A page that is out of range
    or negative (unmapped) becomes -1. For the rest see `fast_topk_v2`.

    Args:
        score: (B, L) float32, float16 or bfloat16; stride(1) == 1, any stride(0) >= 0.
        lengths: (B) int32, or None: how many columns of each row count, from the row's start on;
            clamped to what the row has. With ``next_n`` also (batch, next_n), (B, 1) or (batch).
        page_table_size_1: (batch, P) int32: the page table, of any ``page_size``; stride(1) == 1.
        cu_seqlens_q: (batch + 1) int32: row i is of batch b with cu[b] <= i < cu[b + 1]; or None.
        topk: 1 or more; may exceed L.
        row_starts: (B) int32: first column of the row's window; default 0.
        page_size: positions per page, a power of two.
        row_to_batch: (B) int32: the batch of each row, instead of ``cu_seqlens_q``. Without either
            row i is of batch i // next_n.
        page_table_row_starts: (B) int32: first entry of the row in the table; default 0.
        row_ends: (B) int32: end of the window, instead of ``lengths``.
        next_n: speculative tokens per request: B == batch * next_n.
        compress_ratio: divides the lengths, rounding down.
        out: (R, topk) int32 or int64 with R >= B to write to, instead of a new tensor; rows from B
            on become -1.
        raw_indices: (R, topk) int32 that is also written: the positions in the window.
        values: (R, topk) in the dtype of score that is also written: the scores, padded with -inf.
        index_dtype: of a new result, ``"int32"`` or ``"int64"``.
        sorted: slots in descending score, equal scores by ascending position.
        deterministic: a row's output depends on its window, topk, dtype and options alone.
        tie_break: which of the scores equal to the k-th are taken: any, those at the
            ``"smallest"`` or at the ``"largest"`` positions.
        nan_last: NaN sorts below -inf, instead of above +inf.
        check_counts: 8 uint32 or int32 on the device of score, to which bad inputs are added; see
            `format_check_counts`.
        workspace: memory on the device of score, 256-byte aligned, not shared by calls that may
            overlap; see `workspace_size`.
        pdl: launch with programmatic stream serialisation (sm_90 and later).
        max_sms: at most so many multiprocessors are used; 0: all.
        stream: a CUDA stream or its handle; default: the framework's current one. None on a CPU.
        context: a `Context` instead of the default one.

    Returns:
        (B, topk) int32, of the framework and on the device of score, or ``out``: slots; each row
        has first those of its min(topk, length) largest scores, then -1. When a row has no more
        than topk columns, its positions are in ascending order; otherwise the order is open unless
        an option asks for one.

    Raises:
        InvalidArgumentError: a shape, dtype, device, stride or number is wrong; the message says
            which and what is expected. Nothing was enqueued or written.
        NotPreparedError: the stream is being captured and `prepare` was not called before.
        TypeError: an argument is no tensor, or ``out`` is needed.
        TopkJitError: of the kinds that `prepare` raises, if it was not prepared.
    """
    if is_compiling():
        return traced_select(
            score, lengths, row_starts, row_ends, page_table_size_1, page_table_row_starts,
            cu_seqlens_q, row_to_batch, None, out, raw_indices, values, check_counts, workspace,
            "paged", topk, page_size, next_n, compress_ratio, index_dtype, sorted, deterministic,
            tie_break, nan_last, pdl, max_sms, stream, context, False,
        )
    return _native.select(
        score, lengths, row_starts, row_ends, page_table_size_1, page_table_row_starts,
        cu_seqlens_q, row_to_batch, None, out, raw_indices, values, check_counts, workspace,
        "paged", topk, page_size, next_n, compress_ratio, index_dtype, sorted, deterministic,
        tie_break, nan_last, pdl, max_sms, stream, context, False,
    )


def fast_topk_transform_ragged_fused(
    score: Tensor,
    lengths: Optional[AnyTensor],
    topk_indices_offset: AnyTensor,
    topk: int,
    row_starts: Optional[AnyTensor] = None,
    *,
    row_ends: Optional[AnyTensor] = None,
    next_n: int = 1,
    compress_ratio: int = 1,
    out: Optional[AnyTensor] = None,
    raw_indices: Optional[AnyTensor] = None,
    values: Optional[AnyTensor] = None,
    index_dtype: IndexDtype = "int32",
    sorted: bool = False,
    deterministic: bool = False,
    tie_break: Optional[TieBreak] = None,
    nan_last: bool = False,
    check_counts: Optional[AnyTensor] = None,
    workspace: Optional[AnyTensor] = None,
    pdl: bool = False,
    max_sms: int = 0,
    stream: Any = None,
    context: Optional[Context] = None,
) -> Tensor:
    """Positions in a ragged KV buffer of the topk largest scores of every row.

    Position p of row i becomes ``p + topk_indices_offset[i]``. For the rest see `fast_topk_v2`.

    Args:
        score: (B, L) float32, float16 or bfloat16; stride(1) == 1, any stride(0) >= 0.
        lengths: (B) int32, or None: how many columns of each row count, from the row's start on;
            clamped to what the row has. With ``next_n`` also (batch, next_n), (B, 1) or (batch).
        topk_indices_offset: (B) int32: where each row begins in the buffer.
        topk: 1 or more; may exceed L.
        row_starts: (B) int32: first column of the row's window; default 0.
        row_ends: (B) int32: end of the window, instead of ``lengths``.
        next_n: speculative tokens per request: B == batch * next_n.
        compress_ratio: divides the lengths, rounding down.
        out: (R, topk) int32 or int64 with R >= B to write to, instead of a new tensor; rows from B
            on become -1.
        raw_indices: (R, topk) int32 that is also written: the positions in the window.
        values: (R, topk) in the dtype of score that is also written: the scores, padded with -inf.
        index_dtype: of a new result, ``"int32"`` or ``"int64"``.
        sorted: slots in descending score, equal scores by ascending position.
        deterministic: a row's output depends on its window, topk, dtype and options alone.
        tie_break: which of the scores equal to the k-th are taken: any, those at the
            ``"smallest"`` or at the ``"largest"`` positions.
        nan_last: NaN sorts below -inf, instead of above +inf.
        check_counts: 8 uint32 or int32 on the device of score, to which bad inputs are added; see
            `format_check_counts`.
        workspace: memory on the device of score, 256-byte aligned, not shared by calls that may
            overlap; see `workspace_size`.
        pdl: launch with programmatic stream serialisation (sm_90 and later).
        max_sms: at most so many multiprocessors are used; 0: all.
        stream: a CUDA stream or its handle; default: the framework's current one. None on a CPU.
        context: a `Context` instead of the default one.

    Returns:
        (B, topk) int32, of the framework and on the device of score, or ``out``: positions in the
        buffer; each row has topk slots: first those of its min(topk, length)
        largest scores, then -1. When a row has no more than topk columns, its positions are in
        ascending order; otherwise the order is open unless an option asks for one.

    Raises:
        InvalidArgumentError: a shape, dtype, device, stride or number is wrong; the message says
            which and what is expected. Nothing was enqueued or written.
        NotPreparedError: the stream is being captured and `prepare` was not called before.
        TypeError: an argument is no tensor, or ``out`` is needed.
        TopkJitError: of the kinds that `prepare` raises, if it was not prepared.
    """
    if is_compiling():
        return traced_select(
            score, lengths, row_starts, row_ends, None, None, None,
            None, topk_indices_offset, out, raw_indices, values, check_counts, workspace,
            "ragged", topk, 0, next_n, compress_ratio, index_dtype, sorted, deterministic,
            tie_break, nan_last, pdl, max_sms, stream, context, False,
        )
    return _native.select(
        score, lengths, row_starts, row_ends, None, None, None,
        None, topk_indices_offset, out, raw_indices, values, check_counts, workspace,
        "ragged", topk, 0, next_n, compress_ratio, index_dtype, sorted, deterministic,
        tie_break, nan_last, pdl, max_sms, stream, context, False,
    )


def select(
    score: AnyTensor,
    lengths: Optional[AnyTensor] = None,
    topk: int = 2048,
    *,
    layout: Layout = "plain",
    row_starts: Optional[AnyTensor] = None,
    page_table: Optional[AnyTensor] = None,
    page_size: int = 0,
    page_table_row_starts: Optional[AnyTensor] = None,
    cu_seqlens_q: Optional[AnyTensor] = None,
    row_to_batch: Optional[AnyTensor] = None,
    topk_indices_offset: Optional[AnyTensor] = None,
    row_ends: Optional[AnyTensor] = None,
    next_n: int = 1,
    compress_ratio: int = 1,
    out: Optional[AnyTensor] = None,
    raw_indices: Union[None, bool, AnyTensor] = None,
    values: Union[None, bool, AnyTensor] = None,
    index_dtype: IndexDtype = "int32",
    sorted: bool = False,
    deterministic: bool = False,
    tie_break: Optional[TieBreak] = None,
    nan_last: bool = False,
    check_counts: Optional[AnyTensor] = None,
    workspace: Optional[AnyTensor] = None,
    pdl: bool = False,
    max_sms: int = 0,
    stream: Any = None,
    context: Optional[Context] = None,
) -> Selection:
    """The selection with every input and option. See `fast_topk_v2` for what is selected.

    Args:
        score: (B, L) float32, float16 or bfloat16; stride(1) == 1, any stride(0) >= 0.
        lengths: (B) int32, or None: how many columns of each row count, from the row's start on;
            clamped to what the row has. With ``next_n`` also (batch, next_n), (B, 1) or (batch).
        topk: 1 or more; may exceed L.
        layout: how positions are written: as they are (``"plain"``), as slots of a paged KV cache
            (``"paged"``, needs ``page_table`` and ``page_size``), or plus the row's
            ``topk_indices_offset`` (``"ragged"``).
        row_starts: (B) int32: first column of the row's window; default 0.
        page_table: (batch, P) int32; stride(1) == 1.
        page_size: positions per page, a power of two.
        page_table_row_starts: (B) int32: first entry of the row in the table; default 0.
        cu_seqlens_q: (batch + 1) int32: row i is of batch b with cu[b] <= i < cu[b + 1].
        row_to_batch: (B) int32: the batch of each row, instead of ``cu_seqlens_q``. Without either
            row i is of batch i // next_n.
        topk_indices_offset: (B) int32: where each row begins in the ragged buffer.
        row_ends: (B) int32: end of the window, instead of ``lengths``.
        next_n: speculative tokens per request: B == batch * next_n.
        compress_ratio: divides the lengths, rounding down.
        out: (R, topk) int32 or int64 with R >= B to write to, instead of a new tensor; rows from B
            on become -1.
        raw_indices: True, or an (R, topk) int32 tensor to write to: the positions in the window.
        values: True, or an (R, topk) tensor in the dtype of score to write to: the scores, padded
            with -inf.
        index_dtype: of a new result, ``"int32"`` or ``"int64"``.
        sorted: slots in descending score, equal scores by ascending position.
        deterministic: a row's output depends on its window, topk, dtype and options alone.
        tie_break: which of the scores equal to the k-th are taken: any, those at the
            ``"smallest"`` or at the ``"largest"`` positions.
        nan_last: NaN sorts below -inf, instead of above +inf.
        check_counts: 8 uint32 or int32 on the device of score, to which bad inputs are added; see
            `format_check_counts`.
        workspace: memory on the device of score, 256-byte aligned, not shared by calls that may
            overlap; see `workspace_size`.
        pdl: launch with programmatic stream serialisation (sm_90 and later).
        max_sms: at most so many multiprocessors are used; 0: all.
        stream: a CUDA stream or its handle; default: the framework's current one. None on a CPU.
        context: a `Context` instead of the default one.

    Returns:
        A `Selection`; what was not asked for is None.

    Raises:
        InvalidArgumentError: a shape, dtype, device, stride or number is wrong; the message says
            which and what is expected. Nothing was enqueued or written.
        NotPreparedError: the stream is being captured and `prepare` was not called before.
        TypeError: an argument is no tensor, or ``out`` is needed.
        TopkJitError: of the kinds that `prepare` raises, if it was not prepared.
    """
    if is_compiling():
        return traced_select(
            score, lengths, row_starts, row_ends, page_table, page_table_row_starts, cu_seqlens_q,
            row_to_batch, topk_indices_offset, out, raw_indices, values, check_counts, workspace,
            layout, topk, page_size, next_n, compress_ratio, index_dtype, sorted, deterministic,
            tie_break, nan_last, pdl, max_sms, stream, context, True,
        )
    return _native.select(
        score, lengths, row_starts, row_ends, page_table, page_table_row_starts, cu_seqlens_q,
        row_to_batch, topk_indices_offset, out, raw_indices, values, check_counts, workspace,
        layout, topk, page_size, next_n, compress_ratio, index_dtype, sorted, deterministic,
        tie_break, nan_last, pdl, max_sms, stream, context, True,
    )


def workspace_size(
    score: AnyTensor,
    lengths: Optional[AnyTensor] = None,
    topk: int = 2048,
    *,
    layout: Layout = "plain",
    row_starts: Optional[AnyTensor] = None,
    page_table: Optional[AnyTensor] = None,
    page_size: int = 0,
    page_table_row_starts: Optional[AnyTensor] = None,
    cu_seqlens_q: Optional[AnyTensor] = None,
    row_to_batch: Optional[AnyTensor] = None,
    topk_indices_offset: Optional[AnyTensor] = None,
    row_ends: Optional[AnyTensor] = None,
    next_n: int = 1,
    compress_ratio: int = 1,
    out: Optional[AnyTensor] = None,
    raw_indices: Union[None, bool, AnyTensor] = None,
    values: Union[None, bool, AnyTensor] = None,
    index_dtype: IndexDtype = "int32",
    sorted: bool = False,
    deterministic: bool = False,
    tie_break: Optional[TieBreak] = None,
    nan_last: bool = False,
    check_counts: Optional[AnyTensor] = None,
    workspace: Optional[AnyTensor] = None,
    pdl: bool = False,
    max_sms: int = 0,
    stream: Any = None,
    context: Optional[Context] = None,
) -> int:
    """Bytes of ``workspace`` that make a selection fastest; 0 for most. With less it is right all
    the same.

    Arguments as in `select`; the data of the tensors are not read. Only GPUs before sm_90 use it.
    """
    return _native.workspace_size(
        score, lengths, row_starts, row_ends, page_table, page_table_row_starts, cu_seqlens_q,
        row_to_batch, topk_indices_offset, out, None, None, check_counts, workspace,
        layout, topk, page_size, next_n, compress_ratio, index_dtype, sorted, deterministic,
        tie_break, nan_last, pdl, max_sms, stream, context, False,
    )


def format_check_counts(counts: Any) -> str:
    """Turns ``check_counts``, copied to the host, into one line of text.

    Args:
        counts: 8 integers, or an array of them.
    """
    return _native.format_check_counts(*(int(count) & 0xFFFFFFFF for count in counts))


class Selector(_native.Selector, Generic[Tensor]):
    """A selection whose options are read once: the call with the least overhead.

    ``selector(score, lengths, out=indices)`` selects like `select` and returns the indices. A call
    takes ``score`` and ``lengths`` and, by keyword, every other tensor of `select` and ``stream``.
    Tensors may be others in each call. Under torch.compile use the functions.

    Args:
        topk, layout, page_size, next_n, compress_ratio, index_dtype, sorted, deterministic,
            tie_break, nan_last, pdl, max_sms, context: as in `select`.

    Example::

        selector = topk_jit.Selector(2048, layout="paged", page_size=64)
        selector.prepare("float32")
        selector(score, lengths, page_table=table, out=slots)
    """

    def __init__(
        self,
        topk: int,
        *,
        layout: Layout = "plain",
        page_size: int = 0,
        next_n: int = 1,
        compress_ratio: int = 1,
        index_dtype: IndexDtype = "int32",
        sorted: bool = False,
        deterministic: bool = False,
        tie_break: Optional[TieBreak] = None,
        nan_last: bool = False,
        pdl: bool = False,
        max_sms: int = 0,
        context: Optional[Context] = None,
    ) -> None:
        self._open(
            layout, topk, page_size, next_n, compress_ratio, index_dtype, sorted, deterministic,
            tie_break, nan_last, pdl, max_sms, context,
        )
        self._context = context
        self._spec = Spec(
            topk=topk,
            layout=layout,
            index_dtype=index_dtype,
            page_size=page_size,
            tie_break=tie_break,
            sorted=sorted,
            deterministic=deterministic,
            nan_last=nan_last,
        )

    if TYPE_CHECKING:

        def __call__(
            self,
            score: Tensor,
            lengths: Optional[AnyTensor] = None,
            *,
            row_starts: Optional[AnyTensor] = None,
            row_ends: Optional[AnyTensor] = None,
            page_table: Optional[AnyTensor] = None,
            page_table_row_starts: Optional[AnyTensor] = None,
            cu_seqlens_q: Optional[AnyTensor] = None,
            row_to_batch: Optional[AnyTensor] = None,
            topk_indices_offset: Optional[AnyTensor] = None,
            out: Optional[AnyTensor] = None,
            raw_indices: Optional[AnyTensor] = None,
            values: Optional[AnyTensor] = None,
            check_counts: Optional[AnyTensor] = None,
            workspace: Optional[AnyTensor] = None,
            stream: Any = None,
        ) -> Tensor: ...

    def spec(self, dtype: Any = "float32", *, check: bool = False) -> Spec:
        """The spec of calls on scores of a dtype; ``check`` for those with ``check_counts``."""
        return dataclasses.replace(self._spec, dtype=dtype, check=check)

    def prepare(self, *dtypes: Any, device: Any = None, stream: Any = None) -> None:
        """Prepares for scores of these dtypes, float32 if none is given; see `topk_jit.prepare`."""
        specs = [self.spec(dtype) for dtype in dtypes or ("float32",)]
        prepare(*specs, device=device, stream=stream, context=self._context)
