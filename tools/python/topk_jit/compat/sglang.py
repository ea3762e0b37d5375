# SPDX-License-Identifier: Apache-2.0
"""topk_jit under the names of SGLang.

==================================  =================================================
replaced                            modules
==================================  =================================================
fast_topk, fast_topk_v2,            ``sgl_kernel.top_k`` and ``sgl_kernel``
fast_topk_transform_fused,
fast_topk_transform_ragged_fused
plan_topk_v2, topk_transform_512,   ``sglang.jit_kernel.deepseek_v4``, then
topk_transform_512_v2,              ``sglang.jit_kernel.dsv4``, by now
topk_transform_paged,               ``sglang.kernels.ops.attention.dsv4``, each as
topk_transform_paged_v2,            its version of SGLang has them
topk_transform_ragged_v2
fast_topk of score and lengths      ``sglang.kernels.ops.attention.fast_topk``, for QSA
==================================  =================================================

The ``paged`` names are those that the ``512`` ones have since SGLang 35041, the ragged one came
with SGLang 35175. The operators behind them (``torch.ops.sgl_kernel``) are not replaced: SGLang
calls the Python functions. Nor is the ``fast_topk`` that ``sglang.srt.utils.common`` has, nor what
selects pools of tokens (``topk_transform_kpool_v2``).
"""
from __future__ import annotations

import importlib.machinery
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Optional

from .. import _frameworks, _functions
from ._patch import (
    Function,
    Patch,
    Replacement,
    call_original,
    has_parameters,
    import_all,
    namespace_of,
    parameter_names,
    refuse_rocm,
)

__all__ = ["install", "uninstall"]

_KERNEL_MODULES = ("sgl_kernel.top_k", "sgl_kernel")
_ROW_MODULES = ("sglang.kernels.ops.attention.fast_topk",)
_PAGED_MODULES = (
    "sglang.kernels.ops.attention.dsv4.topk",
    "sglang.kernels.ops.attention.dsv4",
    "sglang.jit_kernel.dsv4.topk",
    "sglang.jit_kernel.dsv4",
    "sglang.jit_kernel.deepseek_v4",
)

# First number of a plan: rows longer than this are for clusters. The second is how many these are
# (csrc/deepseek_v4/topk_v2.cuh, GlobalMetadata).
_NO_THRESHOLD = 2**31 - 1

_patch = Patch("SGLang")


class Largest(NamedTuple):
    """Result of ``fast_topk``, with the attributes of torch.return_types.topk and max."""

    values: Any
    indices: Any


# `rest` and `unknown` are arguments of versions to come: only an original knows what they ask for.


def _unknown(rest: tuple[Any, ...], unknown: Mapping[str, Any]) -> str:
    return "unknown " + ", ".join([*(type(one).__name__ for one in rest), *unknown])


# ---- sgl_kernel.top_k ----


def _fast_topk(original: Optional[Function], deterministic: bool) -> Function:
    torch = sys.modules.get("torch")
    narrow = {
        getattr(torch, name)
        for name in ("bool", "uint8", "int8", "int16")
        if torch is not None and hasattr(torch, name)
    }

    def fast_topk(values: Any, topk: int, dim: int) -> Any:
        if topk < 1:
            return call_original("fast_topk", original, f"topk is {topk}", values, topk, dim)
        if narrow and values.dtype in narrow:
            reason = f"values are {values.dtype}"
            return call_original("fast_topk", original, reason, values, topk, dim)
        if getattr(values, "requires_grad", False):
            reason = "values require a gradient"
            return call_original("fast_topk", original, reason, values, topk, dim)
        return Largest(*_functions.fast_topk(values, topk, dim))

    return fast_topk


def _fast_topk_v2(name: str) -> Any:
    def make(original: Optional[Function], deterministic: bool) -> Function:
        def fast_topk_v2(
            score: Any,
            lengths: Any,
            topk: int,
            row_starts: Any = None,
            *rest: Any,
            **unknown: Any,
        ) -> Any:
            if rest or unknown:
                return call_original(
                    name, original, _unknown(rest, unknown),
                    score, lengths, topk, row_starts, *rest, **unknown,
                )
            return _functions.fast_topk_v2(
                score, lengths, topk, row_starts, deterministic=deterministic
            )

        fast_topk_v2.__name__ = fast_topk_v2.__qualname__ = name
        return fast_topk_v2

    return make


def _fast_topk_transform_fused(original: Optional[Function], deterministic: bool) -> Function:
    def fast_topk_transform_fused(
        score: Any,
        lengths: Any,
        page_table_size_1: Any,
        cu_seqlens_q: Any,
        topk: int,
        row_starts: Any = None,
        *rest: Any,
        **unknown: Any,
    ) -> Any:
        if rest or unknown:
            return call_original(
                "fast_topk_transform_fused", original, _unknown(rest, unknown), score, lengths,
                page_table_size_1, cu_seqlens_q, topk, row_starts, *rest, **unknown,
            )
        # One table row for each row of scores and no row_starts is decoding, where sgl_kernel takes
        # table row i for row i and does not read cu_seqlens_q (csrc/elementwise/topk.cu).
        if (
            row_starts is None
            and cu_seqlens_q is not None
            and cu_seqlens_q.shape[0] - 1 == score.shape[0]
        ):
            cu_seqlens_q = None
        return _functions.fast_topk_transform_fused(
            score, lengths, page_table_size_1, cu_seqlens_q, topk, row_starts,
            deterministic=deterministic,
        )

    return fast_topk_transform_fused


def _fast_topk_transform_ragged_fused(
    original: Optional[Function], deterministic: bool
) -> Function:
    def fast_topk_transform_ragged_fused(
        score: Any,
        lengths: Any,
        topk_indices_offset: Any,
        topk: int,
        row_starts: Any = None,
        *rest: Any,
        **unknown: Any,
    ) -> Any:
        if rest or unknown:
            return call_original(
                "fast_topk_transform_ragged_fused", original, _unknown(rest, unknown),
                score, lengths, topk_indices_offset, topk, row_starts, *rest, **unknown,
            )
        return _functions.fast_topk_transform_ragged_fused(
            score, lengths, topk_indices_offset, topk, row_starts, deterministic=deterministic
        )

    return fast_topk_transform_ragged_fused


# ---- the paged entry of decoding ----


def _plan_topk_v2(original: Optional[Function], deterministic: bool) -> Function:
    # 2 numbers for each sequence, 4 in sglang.jit_kernel.deepseek_v4.
    module = getattr(original, "__globals__", {})
    width = int(module.get("_PLAN_METADATA_INTS_PER_BATCH", 2))

    def plan_topk_v2(seq_lens: Any, static_threshold: int = 0, out: Any = None) -> Any:
        plan = out
        if plan is None:
            shape = (seq_lens.shape[0] + 1, width)
            if hasattr(seq_lens, "new_empty"):
                plan = seq_lens.new_empty(shape)
            else:
                allocate = _frameworks.classify(type(seq_lens), "seq_lens").allocate_alike
                assert allocate is not None
                plan = allocate(seq_lens, shape)
        # Nobody should read it. SGLang's kernel however crashes on a plan that was never written,
        # and a transform of SGLang's may be left in a cache: this one is of no rows for clusters.
        plan[0, 0] = _NO_THRESHOLD
        plan[0, 1:] = 0
        return plan

    return plan_topk_v2


def _topk_transform(name: str) -> Any:
    def make(original: Optional[Function], deterministic: bool) -> Function:
        def topk_transform(
            scores: Any,
            seq_lens: Any,
            page_tables: Any,
            out_page_indices: Any,
            page_size: int,
            out_raw_indices: Any = None,
            *rest: Any,
            **unknown: Any,
        ) -> Any:
            if rest or unknown:
                return call_original(
                    name, original, _unknown(rest, unknown), scores, seq_lens, page_tables,
                    out_page_indices, page_size, out_raw_indices, *rest, **unknown,
                )
            _functions.select(
                scores, seq_lens, out_page_indices.shape[1], layout="paged",
                page_table=page_tables, page_size=page_size, out=out_page_indices,
                raw_indices=out_raw_indices, deterministic=deterministic,
            )
            return None

        topk_transform.__name__ = topk_transform.__qualname__ = name
        return topk_transform

    return make


def _topk_transform_v2(name: str) -> Any:
    def make(original: Optional[Function], deterministic: bool) -> Function:
        def topk_transform_v2(
            scores: Any,
            seq_lens: Any,
            page_tables: Any,
            out_page_indices: Any,
            page_size: int,
            metadata: Any,
            out_raw_indices: Any = None,
            *rest: Any,
            **unknown: Any,
        ) -> Any:
            if rest or unknown:
                return call_original(
                    name, original, _unknown(rest, unknown), scores, seq_lens, page_tables,
                    out_page_indices, page_size, metadata, out_raw_indices, *rest, **unknown,
                )
            topk = out_page_indices.shape[1]
            if page_tables is None:
                _functions.select(
                    scores, seq_lens, topk, out=out_page_indices, raw_indices=out_raw_indices,
                    deterministic=deterministic,
                )
            else:
                _functions.select(
                    scores, seq_lens, topk, layout="paged", page_table=page_tables,
                    page_size=page_size, out=out_page_indices, raw_indices=out_raw_indices,
                    deterministic=deterministic,
                )
            return None

        topk_transform_v2.__name__ = topk_transform_v2.__qualname__ = name
        return topk_transform_v2

    return make


def _topk_transform_ragged_v2(original: Optional[Function], deterministic: bool) -> Function:
    name = "topk_transform_ragged_v2"

    def topk_transform_ragged_v2(
        scores: Any,
        seq_lens: Any,
        *rest: Any,
        out_offsets: Any,
        out_indices: Any,
        row_starts: Any = None,
        **unknown: Any,
    ) -> Any:
        if rest or unknown:
            return call_original(
                name, original, _unknown(rest, unknown), scores, seq_lens, *rest,
                out_offsets=out_offsets, out_indices=out_indices, row_starts=row_starts, **unknown,
            )
        _functions.select(
            scores, seq_lens, out_indices.shape[1], layout="ragged", row_starts=row_starts,
            topk_indices_offset=out_offsets, out=out_indices, deterministic=deterministic,
        )
        return None

    return topk_transform_ragged_v2


# ---- what is replaced ----


class _Form(NamedTuple):
    """A function of SGLang.

    Attributes:
        parameters: with which its parameters begin. One with others is another function by the
            same name and is not replaced.
        make: its replacement, from the original and ``deterministic``.
    """

    parameters: tuple[str, ...]
    make: Any


_ROWS = ("score", "lengths", "topk", "row_starts")
_PAGED = ("scores", "seq_lens", "page_tables", "out_page_indices", "page_size")
_KERNEL_FORMS = {
    "fast_topk": _Form(("values", "topk", "dim"), _fast_topk),
    "fast_topk_v2": _Form(_ROWS, _fast_topk_v2("fast_topk_v2")),
    "fast_topk_transform_fused": _Form(
        ("score", "lengths", "page_table_size_1", "cu_seqlens_q", "topk", "row_starts"),
        _fast_topk_transform_fused,
    ),
    "fast_topk_transform_ragged_fused": _Form(
        ("score", "lengths", "topk_indices_offset", "topk", "row_starts"),
        _fast_topk_transform_ragged_fused,
    ),
}
_ROW_FORMS = {"fast_topk": _Form(_ROWS, _fast_topk_v2("fast_topk"))}
_PAGED_FORMS = {
    "plan_topk_v2": _Form(("seq_lens", "static_threshold"), _plan_topk_v2),
    "topk_transform_512": _Form(
        (*_PAGED, "out_raw_indices"), _topk_transform("topk_transform_512")
    ),
    "topk_transform_paged": _Form(
        (*_PAGED, "out_raw_indices"), _topk_transform("topk_transform_paged")
    ),
    "topk_transform_512_v2": _Form(
        (*_PAGED, "metadata"), _topk_transform_v2("topk_transform_512_v2")
    ),
    "topk_transform_paged_v2": _Form(
        (*_PAGED, "metadata"), _topk_transform_v2("topk_transform_paged_v2")
    ),
    "topk_transform_ragged_v2": _Form(
        ("scores", "seq_lens", "out_offsets", "out_indices", "row_starts"),
        _topk_transform_ragged_v2,
    ),
}


def _reads_a_plan(name: str, value: Any) -> bool:
    if not name.startswith("topk_transform_") or not callable(value):
        return False
    return "metadata" in (parameter_names(value) or ())


def _is_replaced(name: str, value: Any) -> bool:
    return name in _PAGED_FORMS and has_parameters(value, _PAGED_FORMS[name].parameters)


def _plans_are_ours(namespaces: Iterable[Mapping[str, Any]]) -> bool:
    """Whether everything that reads plans is replaced, too: what is not should get real ones."""
    readers = [
        (name, value)
        for namespace in namespaces
        for name, value in namespace.items()
        if _reads_a_plan(name, value)
    ]
    return bool(readers) and all(_is_replaced(name, value) for name, value in readers)


def _found(
    modules: Iterable[types.ModuleType], forms: Mapping[str, _Form], deterministic: bool
) -> list[Replacement]:
    pairs = [(module, namespace_of(module) or {}) for module in modules]
    plans_are_ours = _plans_are_ours(namespace for _, namespace in pairs)
    found = []
    for module, namespace in pairs:
        for name, form in forms.items():
            original = namespace.get(name)
            if original is None or not has_parameters(original, form.parameters):
                continue
            if name == "plan_topk_v2" and not plans_are_ours:
                continue
            function = form.make(original, deterministic)
            found.append(Replacement(module, module.__name__, name, original, function))
    return found


def _stand_alone(deterministic: bool) -> dict[str, types.ModuleType]:
    package, module = types.ModuleType("sgl_kernel"), types.ModuleType("sgl_kernel.top_k")
    package.__doc__ = module.__doc__ = "topk_jit in the place of the top-k of SGLang's sgl_kernel."
    package.__spec__ = importlib.machinery.ModuleSpec("sgl_kernel", None, is_package=True)
    module.__spec__ = importlib.machinery.ModuleSpec("sgl_kernel.top_k", None)
    package.__path__ = []
    for name, form in _KERNEL_FORMS.items():
        function = form.make(None, deterministic)
        setattr(package, name, function)
        setattr(module, name, function)
    setattr(package, "top_k", module)
    setattr(package, "__all__", list(_KERNEL_FORMS))
    setattr(module, "__all__", list(_KERNEL_FORMS))
    return {"sgl_kernel": package, "sgl_kernel.top_k": module}


def install(*, standalone: bool = False, deterministic: bool = False) -> list[str]:
    """Replaces the top-k of SGLang by topk_jit, in its modules and wherever it is bound by name.

    Imports ``sgl_kernel`` and, of ``sglang``, the modules that have a top-k. Replaced are the
    functions there and the same objects in all modules that are loaded; what is imported from then
    on gets the replacement anyway. Not found is what is bound elsewhere: in classes, closures and
    containers. A second call does nothing.

    Differences: any ``topk`` is taken, float16 and bfloat16 scores too; a length is cut to the
    columns that there are; an unmapped page becomes -1. ``plan_topk_v2`` returns a tensor of the
    right shape that topk_jit does not read; it is replaced only where all that read plans are.

    Args:
        standalone: instead of replacing anything, registers a module ``sgl_kernel`` that has the
            four functions of ``sgl_kernel.top_k`` and nothing else.
        deterministic: the same selection for the same scores, as in `topk_jit.select`.

    Returns:
        Where functions are replaced, such as ``"sgl_kernel.fast_topk_v2"``.

    Raises:
        ImportError: there is neither ``sgl_kernel`` nor ``sglang``, or nothing known in them.
        RuntimeError: it is installed with other arguments; or, if standalone, ``sgl_kernel`` is
            imported already; or torch is one for ROCm.
    """
    options = {"standalone": standalone, "deterministic": deterministic}
    if standalone:
        with _patch.lock:
            if _patch.accepts(options):
                _patch.register(options, _stand_alone(deterministic))
            return _patch.names()
    # Without the lock: another thread may hold an import and wait for us.
    kernel_modules, failure = import_all(_KERNEL_MODULES)
    row_modules, _ = import_all(_ROW_MODULES)
    paged_modules, _ = import_all(_PAGED_MODULES)
    refuse_rocm()
    with _patch.lock:
        if _patch.accepts(options):
            replacements = _found(kernel_modules, _KERNEL_FORMS, deterministic)
            replacements += _found(row_modules, _ROW_FORMS, deterministic)
            replacements += _found(paged_modules, _PAGED_FORMS, deterministic)
            if not replacements:
                raise ImportError(
                    "no top-k of SGLang was found, neither in sgl_kernel nor in sglang"
                    + (f": {failure}" if failure else "")
                ) from failure
            _patch.put(options, replacements)
        return _patch.names()


def uninstall() -> list[str]:
    """Undoes `install`, also where modules imported a replacement since.

    What somebody else put in the place of a replacement stays; a RuntimeWarning names it.

    Returns:
        Where the originals are again; with standalone, the modules that are gone.
    """
    with _patch.lock:
        return _patch.take_back()
