# SPDX-License-Identifier: Apache-2.0
"""Where libtopk_jit.so is, and where pip put NVRTC."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import re

from . import _native

__all__ = ["VERSION", "find_nvrtc_folder", "load"]

VERSION = "0.1.0"
_SONAME = "libtopk_jit.so.0.1"  # of this minor version only: the next one may differ


def _candidates() -> list[str]:
    """Paths to try in order; the last one is left to the loader."""
    package = pathlib.Path(__file__).parent
    module = pathlib.Path(_native.__file__).parent
    found = []
    for folder in dict.fromkeys([package, module]):
        found.append(folder / "lib" / _SONAME)  # a wheel
        found.append(folder.parents[1] / _SONAME)  # a build tree, where the package is in python/
    return [str(path) for path in found if path.is_file()] + [_SONAME]


def load() -> str:
    """Opens the library and returns its version.

    ``TOPK_JIT_LIBRARY`` names one and no other is tried; otherwise the one inside the package, the
    one of the build tree that the package is in, and the one that the loader finds.
    """
    chosen = os.environ.get("TOPK_JIT_LIBRARY")
    reasons = []
    for path in [chosen] if chosen else _candidates():
        try:
            version = _native.load(path)
        except OSError as error:
            reasons.append(f"{path}: {error}")
            continue
        if version.rpartition(".")[0] != VERSION.rpartition(".")[0]:
            raise ImportError(f"{path} has version {version}, expected {VERSION}", path=path)
        return version
    place = "TOPK_JIT_LIBRARY" if chosen else "the library"
    raise ImportError(f"{place} cannot be loaded: " + "; ".join(reasons))


def _version_in(name: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", name)))


def find_nvrtc_folder() -> str | None:
    """The folder of the newest NVRTC among the wheels that are installed. Imports none of them."""
    spec = importlib.util.find_spec("nvidia")
    roots = spec.submodule_search_locations if spec is not None else None
    libraries = [
        library
        for root in roots or []
        for pattern in ("cu*/lib", "cuda_nvrtc/lib")
        for library in pathlib.Path(root).glob(f"{pattern}/libnvrtc.so.1[2-9]*")
    ]
    if not libraries:
        return None
    return str(max(libraries, key=lambda library: _version_in(library.name)).parent)
