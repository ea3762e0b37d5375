# SPDX-License-Identifier: Apache-2.0
"""What a kernel is compiled for."""
from __future__ import annotations

import dataclasses
from typing import Any, Literal, Optional

Layout = Literal["plain", "paged", "ragged"]
TieBreak = Literal["smallest", "largest"]
IndexDtype = Literal["int32", "int64"]

_OPERATIONS = ("select", "fast_topk")
_LAYOUTS = ("plain", "paged", "ragged")
_DTYPES = ("float32", "float16", "bfloat16", "float64", "int32", "int64")
_TIE_BREAKS = (None, "smallest", "largest")


def _place(value: Any, names: tuple[Any, ...], argument: str) -> int:
    if value not in names:
        raise ValueError(f"{argument} is {value!r}, expected one of {list(names)}")
    return names.index(value)


def _dtype_name(dtype: Any) -> str:
    """Of "float32", torch.float32, numpy.float32 and numpy.dtype("float32")."""
    if isinstance(dtype, str):
        return dtype
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return str(name).rpartition(".")[2]


@dataclasses.dataclass(frozen=True)
class Spec:
    """What is compiled: one prepared spec serves every batch, length, stride and alignment.

    Attributes:
        topk: how many are selected, 1 or more.
        layout: how positions are written, ``"plain"``, ``"paged"`` or ``"ragged"``.
        dtype: of the scores; a name, or a dtype object of torch or NumPy.
        index_dtype: of the indices, ``"int32"`` or ``"int64"``.
        page_size: positions per page, a power of two, with ``layout="paged"``; else 0.
        tie_break: which of the scores equal to the k-th are taken: any, those at the
            ``"smallest"`` or at the ``"largest"`` positions.
        sorted: slots in descending score.
        deterministic: a row's output depends on its window, topk, dtype and options alone.
        nan_last: NaN sorts below -inf, instead of above +inf.
        check: for calls that are given ``check_counts``.
        operation: ``"select"``, or ``"fast_topk"`` for `topk_jit.fast_topk`, which has int64
            indices.
    """

    topk: int = 2048
    layout: Layout = "plain"
    dtype: Any = "float32"
    index_dtype: Any = "int32"
    page_size: int = 0
    tie_break: Optional[TieBreak] = None
    sorted: bool = False
    deterministic: bool = False
    nan_last: bool = False
    check: bool = False
    operation: Literal["select", "fast_topk"] = "select"

    def _numbers(self) -> tuple[int, int, int, int, int, int, int, bool, bool, bool, bool]:
        """As native/prepare.c reads it."""
        operation = _place(self.operation, _OPERATIONS, "operation")
        index_dtype = "int64" if operation == 1 else _dtype_name(self.index_dtype)
        return (
            operation,
            _place(self.layout, _LAYOUTS, "layout"),
            self.topk,
            _place(_dtype_name(self.dtype), _DTYPES, "dtype"),
            _place(index_dtype, _DTYPES, "index_dtype"),
            self.page_size,
            _place(self.tie_break, _TIE_BREAKS, "tie_break"),
            self.sorted,
            self.deterministic,
            self.nan_last,
            self.check,
        )
