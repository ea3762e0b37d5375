# SPDX-License-Identifier: Apache-2.0
"""The package in its source tree: its C part is in a build tree beside it."""
from __future__ import annotations

import importlib.util
import pathlib


def add_build_tree(path: list[str]) -> None:
    """Lets the package find `_native` in the newest build tree, where it has not got one.

    Args:
        path: the package's ``__path__``.

    Raises:
        ImportError: nothing was built.
    """
    if importlib.util.find_spec(f"{__package__}._native") is not None:
        return
    package = pathlib.Path(__file__).parent
    built = [*package.parents[2].glob("build/*/python/topk_jit/_native.abi3.so")]
    if not built:
        raise ImportError(
            "topk_jit is not built: pip install ./tools/python, or build the preset dev with "
            "-DTOPK_JIT_PYTHON=ON"
        )
    path.append(str(max(built, key=lambda module: module.stat().st_mtime).parent))
