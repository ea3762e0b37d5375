# SPDX-License-Identifier: Apache-2.0
"""Puts functions in the place of others, wherever loaded modules have these, and takes them back.

Modules are read by their dictionaries alone: an attribute of a module may be computed when it is
asked for, and a lazy module (``importlib.util.LazyLoader``) is loaded by any question, even for
``__dict__``.
"""
from __future__ import annotations

import importlib
import inspect
import sys
import threading
import types
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Callable, NamedTuple, Optional

Function = Callable[..., Any]

_ABSENT = object()
_OWN_PACKAGE = __name__.partition(".")[0]


class UnmappedCallError(NotImplementedError):
    """A call that has no equal in topk_jit, where no other function is left to call."""


def call_original(
    name: str, original: Optional[Function], reason: str, *args: Any, **kwargs: Any
) -> Any:
    """What a replacement does with a call that it cannot map: it leaves it to the original.

    Raises:
        UnmappedCallError: there is no original.
    """
    if original is None:
        raise UnmappedCallError(
            f"{name}: {reason}; topk_jit has no such call and there is no original to leave it to"
        )
    return original(*args, **kwargs)


class Replacement(NamedTuple):
    """One function to put in the place of another.

    Attributes:
        module: the module, or namespace of operators, that has it.
        where: how messages call this module.
        name: its name there.
        original: the object that is there.
        function: what comes in its place.
    """

    module: types.ModuleType
    where: str
    name: str
    original: Any
    function: Function


class _Place(NamedTuple):
    namespace: dict[str, Any]
    name: str
    dotted: str
    before: Any
    function: Function


def namespace_of(module: object) -> Optional[dict[str, Any]]:
    """The dictionary of a module, without asking the module for it; None if it is no module."""
    if not isinstance(module, types.ModuleType):
        return None
    found: Any = types.ModuleType.__getattribute__(module, "__dict__")
    return found if isinstance(found, dict) else None


def _loaded_modules() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != _OWN_PACKAGE:
            namespace = namespace_of(module)
            if namespace is not None:
                yield name, namespace


def import_all(names: Iterable[str]) -> tuple[list[types.ModuleType], Optional[ImportError]]:
    """Imports what there is of some modules.

    Returns:
        The modules, and why the first one that failed did.
    """
    modules: list[types.ModuleType] = []
    failure: Optional[ImportError] = None
    for name in names:
        try:
            modules.append(importlib.import_module(name))
        except ImportError as error:
            failure = failure or error
    return modules, failure


def parameter_names(function: Any) -> Optional[list[str]]:
    """Names of the parameters of a function, or of an operator of torch; None if unknown."""
    schema = getattr(getattr(function, "default", None), "_schema", None)
    if schema is not None:
        return [argument.name for argument in schema.arguments]
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return None
    return [parameter.name for parameter in parameters]


def has_parameters(function: Any, *expected: tuple[str, ...]) -> bool:
    """Whether a function begins with one of these lists of parameters, as far as can be known."""
    names = parameter_names(function)
    return names is None or any(tuple(names[: len(begin)]) == begin for begin in expected)


class Patch:
    """The functions of one server that are replaced. Its methods may be called by any thread.

    Args:
        server: how messages call the server.
    """

    def __init__(self, server: str) -> None:
        self.lock = threading.RLock()
        self._server = server
        self._options: Optional[Mapping[str, object]] = None
        self._places: list[_Place] = []
        self._registered: dict[str, types.ModuleType] = {}

    def accepts(self, options: Mapping[str, object]) -> bool:
        """Whether nothing is installed yet.

        Raises:
            RuntimeError: it is installed with other options.
        """
        if self._options is not None and self._options != options:
            raise RuntimeError(
                f"topk_jit is installed in {self._server} with {dict(self._options)}, expected "
                f"{dict(options)}: uninstall() first"
            )
        return self._options is None

    def names(self) -> list[str]:
        """Where functions are replaced, such as ``"sgl_kernel.fast_topk_v2"``."""
        return [*(place.dotted for place in self._places), *self._registered]

    def put(self, options: Mapping[str, object], replacements: Iterable[Replacement]) -> None:
        """Replaces functions, and the same objects in every module that is loaded."""
        by_identity: dict[int, Replacement] = {}
        for replacement in replacements:
            # A second module of the server may have the same object. An identity is of one object
            # as long as that lives, and these are held here.
            chosen = by_identity.setdefault(id(replacement.original), replacement)
            namespace = namespace_of(replacement.module)
            if namespace is not None:
                self._set(namespace, replacement.where, replacement.name, chosen)
        for where, namespace in _loaded_modules():
            for name, value in list(namespace.items()):
                found = by_identity.get(id(value))
                if found is not None:
                    self._set(namespace, where, name, found)
        self._options = options

    def register(
        self, options: Mapping[str, object], modules: Mapping[str, types.ModuleType]
    ) -> None:
        """Makes modules importable.

        Raises:
            RuntimeError: there is one of that name.
        """
        taken = [name for name in modules if name in sys.modules]
        if taken:
            raise RuntimeError(f"{taken[0]} is imported already, expected a name that is free")
        sys.modules.update(modules)
        self._registered.update(modules)
        self._options = options

    def _set(self, namespace: dict[str, Any], where: str, name: str, chosen: Replacement) -> None:
        before = namespace.get(name, _ABSENT)
        if before is chosen.function:
            return
        self._places.append(_Place(namespace, name, f"{where}.{name}", before, chosen.function))
        namespace[name] = chosen.function

    def take_back(self) -> list[str]:
        """Puts the originals back, also where modules took a replacement over since.

        What somebody else put over a replacement stays, and a RuntimeWarning names it.

        Returns:
            Where originals are again.
        """
        restored: list[str] = []
        left: list[str] = []
        originals: dict[int, _Place] = {}
        for place in self._places:
            if place.before is not _ABSENT:
                originals.setdefault(id(place.function), place)
            if place.namespace.get(place.name, _ABSENT) is not place.function:
                left.append(place.dotted)
            elif place.before is _ABSENT:
                del place.namespace[place.name]
                restored.append(place.dotted)
            else:
                place.namespace[place.name] = place.before
                restored.append(place.dotted)
        for where, namespace in _loaded_modules():
            for name, value in list(namespace.items()):
                found = originals.get(id(value))
                if found is not None:
                    namespace[name] = found.before
                    restored.append(f"{where}.{name}")
        for where, module in self._registered.items():
            if sys.modules.get(where) is module:
                del sys.modules[where]
                restored.append(where)
            else:
                left.append(where)
        self._places, self._registered, self._options = [], {}, None
        if left:
            warnings.warn(
                f"left as they are, because something else is there by now: {', '.join(left)}",
                RuntimeWarning,
                stacklevel=3,
            )
        return restored


def refuse_rocm() -> None:
    """Raises RuntimeError where torch is one for AMD GPUs, whose tensors topk_jit cannot take."""
    version = getattr(sys.modules.get("torch"), "version", None)
    if getattr(version, "hip", None):
        raise RuntimeError("torch is built for ROCm, expected one for CUDA")
