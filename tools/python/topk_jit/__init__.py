# SPDX-License-Identifier: Apache-2.0
"""Exact top-k selection for sparse attention, compiled for the GPU at hand.

The four functions carry the names and arguments of their source, SGLang's ``sgl_kernel.top_k``::

    import topk_jit

    indices = topk_jit.fast_topk_v2(score, lengths, 2048)           # positions
    slots = topk_jit.fast_topk_transform_fused(score, lengths, table, None, 2048, page_size=64)

Tensors are of torch, NumPy, CuPy, JAX or any other DLPack producer; nothing is copied, and results
are new tensors of the same framework and device unless ``out=`` is given. On a GPU a call enqueues
one kernel on the framework's current stream; `prepare` does ahead what blocks, after which a call
may be part of a CUDA graph. On a CPU the same functions compute the same results.
"""
from __future__ import annotations

import sys as _sys

from ._source_tree import add_build_tree as _add_build_tree

_add_build_tree(__path__)

from . import _errors, _frameworks, _library, _native  # noqa: E402
from ._errors import (  # noqa: E402
    CompilerError,
    DriverError,
    InvalidArgumentError,
    NotPreparedError,
    NotSupportedError,
    OfflineMissError,
    OutOfMemoryError,
    SystemFailedError,
    TemplateError,
    TopkJitError,
)

__version__ = _library.VERSION
_running = _library.load()

from . import _context, _functions  # noqa: E402
from ._context import (  # noqa: E402
    Context,
    Statistics,
    explain,
    is_prepared,
    prepare,
    prepare_async,
    statistics,
)
from ._functions import (  # noqa: E402
    Selection,
    Selector,
    fast_topk,
    fast_topk_transform_fused,
    fast_topk_transform_ragged_fused,
    fast_topk_v2,
    format_check_counts,
    select,
    workspace_size,
)
from ._spec import Spec  # noqa: E402

__all__ = [
    "CompilerError",
    "Context",
    "DriverError",
    "InvalidArgumentError",
    "NotPreparedError",
    "NotSupportedError",
    "OfflineMissError",
    "OutOfMemoryError",
    "Selection",
    "Selector",
    "Spec",
    "Statistics",
    "SystemFailedError",
    "TemplateError",
    "TopkJitError",
    "explain",
    "fast_topk",
    "fast_topk_transform_fused",
    "fast_topk_transform_ragged_fused",
    "fast_topk_v2",
    "format_check_counts",
    "is_prepared",
    "prepare",
    "prepare_async",
    "select",
    "statistics",
    "version",
    "workspace_size",
]


def version() -> str:
    """Version of the library that is running, such as ``"0.1.0"``."""
    return _running


_native.configure(
    {
        "make_error": _errors.make_error,
        "classify": _frameworks.classify,
        "default_context": _context.default_context,
        "stream_handle": _frameworks.stream_handle,
        "trace": _functions.traced_select,
        "trace_fast_topk": _functions.traced_fast_topk,
        "selection": _functions.Selection,
    }
)

# Where torch is there already, its operators are, too: a first call may be in compiled code.
if hasattr(_sys.modules.get("torch"), "compiler"):
    from . import torch_ops as _torch_ops

    _torch_ops.bind()
