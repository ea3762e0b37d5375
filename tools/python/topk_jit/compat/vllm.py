# SPDX-License-Identifier: Apache-2.0
"""topk_jit under the names of vLLM.

=====================================  ================================================
replaced                               where
=====================================  ================================================
top_k_per_row_prefill,                 functions of ``vllm._custom_ops`` and operators
top_k_per_row_decode                   of ``torch.ops._C``
persistent_topk, cooperative_topk      operators of ``torch.ops._C``
=====================================  ================================================

An operator of torch cannot be unregistered, and registering a second kernel for it would be for
good. ``torch.ops._C`` however is a Python object that keeps, as attributes, what was looked up in
it (torch/_ops.py), and vLLM calls operators as attributes: these are set. It suffices because
vLLM's indexer is one operator of its own, which torch.compile does not look into. Who reaches the
operators otherwise gets vLLM's: from C++, by ``torch.ops._C.<name>.default``, or in a graph that
was traced before. Other attributes of a replaced operator are the original's.
"""
from __future__ import annotations

import sys
import types
from typing import Any, Optional

from .. import _functions
from ._patch import (
    Function,
    Patch,
    Replacement,
    call_original,
    has_parameters,
    import_all,
    namespace_of,
    refuse_rocm,
)

__all__ = ["install", "uninstall"]

_patch = Patch("vLLM")


class _Operator:
    """Stands before an operator: is called in its place and has its attributes."""

    def __init__(self, function: Function, original: Any) -> None:
        self._function = function
        self._original = original

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_original"], name)

    def __repr__(self) -> str:
        return f"<topk_jit for {self._original!r}>"


def _strides(tensor: Any) -> tuple[int, ...]:
    """Strides in elements, as torch has them or in bytes as NumPy does."""
    if callable(getattr(tensor, "stride", None)):
        return tuple(tensor.stride())
    return tuple(stride // tensor.itemsize for stride in tensor.strides)


def _unlike(logits: Any, num_rows: int, stride0: int, stride1: int) -> Optional[str]:
    """Why logits are no matrix of num_rows rows with these strides; None if they are.

    vLLM's kernels take a pointer and these numbers; topk_jit takes the tensor, which must say the
    same. Strides of dimensions of size 1 or 0 mean nothing.
    """
    rows, columns = logits.shape
    own = _strides(logits)
    if not 0 <= num_rows <= rows:
        return f"num_rows is {num_rows} and logits have {rows}"
    if num_rows > 1 and stride0 != own[0]:
        return f"stride0 is {stride0} and that of logits {own[0]}"
    if columns > 1 and (stride1 != 1 or own[1] != 1):
        return f"stride1 is {stride1} and that of logits {own[1]}, expected 1"
    return None


def _first(tensor: Any, rows: int) -> Any:
    return tensor if tensor.shape[0] == rows else tensor[:rows]


def _prefill(original: Optional[Function], deterministic: bool) -> Any:
    """Columns [start, end) of each row; positions from start on, padded with -1.

    The contents are relative to the row's start although the window is given in columns:
    csrc/libtorch_stable/sampler.cu, topKPerRowJob.
    """

    def prefill(
        logits: Any,
        starts: Any,
        ends: Any,
        indices: Any,
        num_rows: int,
        stride0: int,
        stride1: int,
        topk: int,
    ) -> None:
        reason = _unlike(logits, num_rows, stride0, stride1)
        if reason is not None:
            call_original(
                "top_k_per_row_prefill", original, reason,
                logits, starts, ends, indices, num_rows, stride0, stride1, topk,
            )
            return
        _functions.select(
            _first(logits, num_rows), None, topk, row_starts=starts, row_ends=ends,
            out=_first(indices, num_rows), deterministic=deterministic,
        )

    return prefill


def _decode(original: Optional[Function], deterministic: bool) -> Any:
    """Row i is token i % next_n of sequence i // next_n.

    One-dimensional seq_lens have one length for each sequence, of its last token;
    two-dimensional ones one for each row (vLLM since csrc/sampler.cu's seqLensIs2D).
    """

    def decode(
        logits: Any,
        next_n: int,
        seq_lens: Any,
        indices: Any,
        num_rows: int,
        stride0: int,
        stride1: int,
        topk: int,
    ) -> None:
        reason = _unlike(logits, num_rows, stride0, stride1)
        if reason is None and (next_n < 1 or num_rows % next_n):
            reason = f"num_rows is {num_rows} and next_n {next_n}"
        if reason is not None:
            call_original(
                "top_k_per_row_decode", original, reason,
                logits, next_n, seq_lens, indices, num_rows, stride0, stride1, topk,
            )
            return
        lengths, per_row = seq_lens, 1
        if len(seq_lens.shape) == 1:
            # Exactly one for each sequence: with as many as rows, each would be taken as it is.
            lengths, per_row = _first(seq_lens, num_rows // next_n), next_n
        elif seq_lens.shape[0] * seq_lens.shape[1] == num_rows:
            per_row = int(seq_lens.shape[1])
        elif seq_lens.shape[1] == 1 and seq_lens.shape[0] * next_n == num_rows:
            lengths, per_row = seq_lens.reshape(-1), next_n
        else:
            lengths = seq_lens.reshape(-1)[:num_rows]
        _functions.select(
            _first(logits, num_rows), lengths, topk, next_n=per_row,
            out=_first(indices, num_rows), deterministic=deterministic,
        )

    return decode


def _per_row_prefill_function(original: Optional[Function], deterministic: bool) -> Function:
    prefill = _prefill(original, deterministic)

    def top_k_per_row_prefill(
        logits: Any,
        cu_seqlen_ks: Any,
        cu_seqlen_ke: Any,
        raw_topk_indices: Any,
        num_rows: int,
        stride0: int,
        stride1: int,
        topk_tokens: int,
    ) -> None:
        prefill(
            logits, cu_seqlen_ks, cu_seqlen_ke, raw_topk_indices,
            num_rows, stride0, stride1, topk_tokens,
        )

    return top_k_per_row_prefill


def _per_row_prefill_operator(original: Optional[Function], deterministic: bool) -> Function:
    prefill = _prefill(original, deterministic)

    def top_k_per_row_prefill(
        logits: Any,
        rowStarts: Any,
        rowEnds: Any,
        indices: Any,
        numRows: int,
        stride0: int,
        stride1: int,
        topK: int,
    ) -> None:
        prefill(logits, rowStarts, rowEnds, indices, numRows, stride0, stride1, topK)

    return top_k_per_row_prefill


def _per_row_decode_function(original: Optional[Function], deterministic: bool) -> Function:
    decode = _decode(original, deterministic)

    def top_k_per_row_decode(
        logits: Any,
        next_n: int,
        seq_lens: Any,
        raw_topk_indices: Any,
        num_rows: int,
        stride0: int,
        stride1: int,
        topk_tokens: int,
    ) -> None:
        decode(
            logits, next_n, seq_lens, raw_topk_indices, num_rows, stride0, stride1, topk_tokens
        )

    return top_k_per_row_decode


def _per_row_decode_operator(original: Optional[Function], deterministic: bool) -> Function:
    decode = _decode(original, deterministic)

    def top_k_per_row_decode(
        logits: Any,
        next_n: int,
        seq_lens: Any,
        indices: Any,
        numRows: int,
        stride0: int,
        stride1: int,
        topK: int,
    ) -> None:
        decode(logits, next_n, seq_lens, indices, numRows, stride0, stride1, topK)

    return top_k_per_row_decode


def _lengths_of_rows(name: str) -> Any:
    """persistent_topk and cooperative_topk: one length for each row, in one or two dimensions.

    workspace and max_seq_len are theirs alone: a scratch buffer, and an upper bound of the lengths
    that chooses a kernel.
    """

    def make(original: Optional[Function], deterministic: bool) -> Function:
        def select(
            logits: Any, lengths: Any, output: Any, workspace: Any, k: int, max_seq_len: int
        ) -> None:
            per_row = int(lengths.shape[1]) if len(lengths.shape) == 2 else 1
            _functions.select(
                logits, lengths, k, next_n=per_row, out=output, deterministic=deterministic
            )

        select.__name__ = select.__qualname__ = name
        return select

    return make


_PREFILL = ("num_rows", "stride0", "stride1", "topk_tokens")
# Names of parameters, and what makes the replacement. Operators of other versions with other
# parameters, such as those of aiter, are other functions and stay.
_FUNCTIONS = {
    "top_k_per_row_prefill": (
        ("logits", "cu_seqlen_ks", "cu_seqlen_ke", "raw_topk_indices", *_PREFILL),
        _per_row_prefill_function,
    ),
    "top_k_per_row_decode": (
        ("logits", "next_n", "seq_lens", "raw_topk_indices", *_PREFILL),
        _per_row_decode_function,
    ),
}
_OPERATORS = {
    "top_k_per_row_prefill": (
        ("logits", "rowStarts", "rowEnds", "indices", "numRows", "stride0", "stride1", "topK"),
        _per_row_prefill_operator,
    ),
    "top_k_per_row_decode": (
        ("logits", "next_n", "seq_lens", "indices", "numRows", "stride0", "stride1", "topK"),
        _per_row_decode_operator,
    ),
    "persistent_topk": (
        ("logits", "lengths", "output", "workspace", "k", "max_seq_len"),
        _lengths_of_rows("persistent_topk"),
    ),
    "cooperative_topk": (
        ("logits", "lengths", "output", "workspace", "k", "max_seq_len"),
        _lengths_of_rows("cooperative_topk"),
    ),
}


def _found_functions(module: types.ModuleType, deterministic: bool) -> list[Replacement]:
    namespace = namespace_of(module) or {}
    found = []
    for name, (parameters, make) in _FUNCTIONS.items():
        original = namespace.get(name)
        if original is not None and has_parameters(original, parameters):
            function = make(original, deterministic)
            found.append(Replacement(module, module.__name__, name, original, function))
    return found


def _found_operators(namespace: Any, deterministic: bool) -> list[Replacement]:
    found: list[Replacement] = []
    if namespace_of(namespace) is None:
        return found
    for name, (parameters, make) in _OPERATORS.items():
        original = getattr(namespace, name, None)
        if original is not None and has_parameters(original, parameters):
            function = _Operator(make(original, deterministic), original)
            found.append(Replacement(namespace, "torch.ops._C", name, original, function))
    return found


def install(*, deterministic: bool = False) -> list[str]:
    """Replaces the top-k of vLLM's sparse attention indexer by topk_jit.

    Imports ``vllm._custom_ops``. Replaced are the functions there, the attributes of
    ``torch.ops._C`` and the same objects in all modules that are loaded; what is bound in classes,
    closures and containers is not found. A second call does nothing.

    Differences: any ``topk`` and number of rows is taken, float16 and bfloat16 logits too; every
    slot of every row is written; a length is cut to the columns that there are. Left to the
    originals: logits that are not dense along rows, or of another layout than the numbers passed
    with them say. Top-k that vLLM was told to take from elsewhere (``deep_select``,
    ``flashinfer``) stays.

    Args:
        deterministic: the same selection for the same scores, as in `topk_jit.select`.

    Returns:
        Where functions are replaced, such as ``"torch.ops._C.persistent_topk"``.

    Raises:
        ImportError: there is no vLLM, or none of the names is in it.
        RuntimeError: it is installed with other arguments, or torch is one for ROCm.
    """
    options = {"deterministic": deterministic}
    # Without the lock: another thread may hold an import and wait for us.
    modules, failure = import_all(["vllm._custom_ops"])
    refuse_rocm()
    with _patch.lock:
        if _patch.accepts(options):
            replacements = [
                found for module in modules for found in _found_functions(module, deterministic)
            ]
            operators = getattr(getattr(sys.modules.get("torch"), "ops", None), "_C", None)
            if modules and operators is not None:
                replacements += _found_operators(operators, deterministic)
            if not replacements:
                raise ImportError(
                    "no top-k of vLLM was found, neither in vllm._custom_ops nor in torch.ops._C"
                    + (f": {failure}" if failure else "")
                ) from failure
            _patch.put(options, replacements)
        return _patch.names()


def uninstall() -> list[str]:
    """Undoes `install`, also where modules imported a replacement since.

    What somebody else put in the place of a replacement stays; a RuntimeWarning names it.

    Returns:
        Where the originals are again.
    """
    with _patch.lock:
        return _patch.take_back()
