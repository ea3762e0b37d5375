# SPDX-License-Identifier: Apache-2.0
"""topk_jit under the names that inference servers call, without a change to the servers::

    import topk_jit.compat.sglang

    topk_jit.compat.sglang.install()    # before or after the server's modules are imported

`sglang` and `vllm` have `install` and `uninstall`. A call without an equal in topk_jit goes to the
function that was replaced; where there is none, `UnmappedCallError` says what is without an equal.
Wrong arguments raise the errors of topk_jit, which name the argument.

The first call for a topk and a layout compiles, which a stream that is being captured into a CUDA
graph does not allow: servers run the model once before they capture, or call `topk_jit.prepare`.
"""
from __future__ import annotations

from . import sglang, vllm
from ._patch import UnmappedCallError

__all__ = ["UnmappedCallError", "sglang", "vllm"]
