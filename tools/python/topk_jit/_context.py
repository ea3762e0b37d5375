# SPDX-License-Identifier: Apache-2.0
"""Contexts: options, caches and kernels; and what is done with specs."""
from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Callable, Literal, NamedTuple, Optional, Union

from . import _native
from ._frameworks import device_number
from ._library import find_nvrtc_folder
from ._spec import Spec

if TYPE_CHECKING:
    import concurrent.futures

_Path = Union[str, "os.PathLike[str]"]
_MODES = {None: 0, "auto": 1, "readonly": 2, "offline": 3, "off": 4}
_TOOLCHAINS = {None: 0, "any": 1, "exact": 2}
_SWITCHES = {None: 0, True: 1, False: 2}
_LEVELS = ("", "error", "warning", "info", "debug")


class Statistics(NamedTuple):
    """What a context did so far; times are in nanoseconds."""

    memory_hits: int
    pack_hits: int
    read_only_hits: int
    user_hits: int
    misses: int
    waits: int
    lock_timeouts: int
    compiles: int
    stores: int
    failed_stores: int
    corrupt_entries: int
    evictions: int
    bytes_read: int
    bytes_written: int
    bytes_evicted: int
    lookup_ns: int
    wait_ns: int
    compile_ns: int
    store_ns: int
    load_ns: int


def _number(value: Any, numbers: dict[Any, int], argument: str) -> int:
    if value not in numbers:
        raise ValueError(f"{argument} is {value!r}, expected one of {list(numbers)}")
    return numbers[value]


def _path(value: Optional[_Path]) -> Optional[str]:
    return None if value is None else os.fspath(value)


def _paths(value: Union[None, _Path, Iterable[_Path]]) -> Optional[str]:
    if value is None or isinstance(value, (str, os.PathLike)):
        return _path(value)
    return ":".join(os.fspath(path) for path in value)


class Context(_native.Context):
    """Options, caches and loaded kernels. Functions without ``context=`` share a default one.

    An option that is None is as its environment variable says, else the default. Any thread may use
    a context.

    Args:
        cache_dir: absolute directory of the kernel cache.
        template_dir: directory of the kernel templates.
        nvrtc: the libnvrtc to load and no other: a file, or, without a slash, a name that the loader
            looks for.
        nvrtc_hint: a directory where libnvrtc may also be; default: that of pip's NVRTC wheel.
        ro_dirs: caches that are only read, and read first: directories or ``.tkp`` packs.
        mode: ``"auto"``; ``"readonly"`` never writes; ``"offline"`` never compiles; ``"off"`` uses
            no disk.
        toolchain: ``"any"``, or ``"exact"``: only what this machine's NVRTC compiled counts.
        shared: the cache may be written by the members of its group.
        lock_timeout_ms: how long to wait for another process that compiles the same; 0: not at all.
        cache_max_bytes: what the cache may hold; -1: no limit.
        record_file: absolute path of a file to which each spec that is prepared is appended.
        log: called with a level's name and a text, on any thread; it may not use the context.
        log_level: least important level that is logged: ``"error"`` to ``"debug"``.

    Raises:
        InvalidArgumentError: an option or environment variable has no such value.
    """

    def __init__(
        self,
        *,
        cache_dir: Optional[_Path] = None,
        template_dir: Optional[_Path] = None,
        nvrtc: Optional[_Path] = None,
        nvrtc_hint: Optional[_Path] = None,
        ro_dirs: Union[None, _Path, Iterable[_Path]] = None,
        mode: Optional[Literal["auto", "readonly", "offline", "off"]] = None,
        toolchain: Optional[Literal["any", "exact"]] = None,
        shared: Optional[bool] = None,
        lock_timeout_ms: Optional[int] = None,
        cache_max_bytes: Optional[int] = None,
        record_file: Optional[_Path] = None,
        log: Optional[Callable[[str, str], object]] = None,
        log_level: Optional[Literal["error", "warning", "info", "debug"]] = None,
    ) -> None:
        if nvrtc_hint is None:
            nvrtc_hint = find_nvrtc_folder()
        levels = {name or None: number for number, name in enumerate(_LEVELS)}
        self._executor: Optional[concurrent.futures.ThreadPoolExecutor] = None
        self._executor_pid = 0
        self._open(
            _path(cache_dir),
            _path(template_dir),
            _path(nvrtc),
            _path(nvrtc_hint),
            _paths(ro_dirs),
            _number(mode, _MODES, "mode"),
            _number(toolchain, _TOOLCHAINS, "toolchain"),
            _number(shared, _SWITCHES, "shared"),
            0 if lock_timeout_ms is None else lock_timeout_ms or -1,
            0 if cache_max_bytes is None else cache_max_bytes,
            _path(record_file),
            _number(log_level, levels, "log_level"),
            None if log is None else (lambda level, text: log(_LEVELS[level], text)),
        )

    def close(self) -> None:
        """Unloads the kernels. Launches that use them must have ended, and graphs that hold them
        must not be launched again. Without it they stay loaded as long as the process.

        Raises:
            RuntimeError: another call is under way.
        """
        if self._executor is not None and self._executor_pid == os.getpid():
            self._executor.shutdown(wait=True, cancel_futures=True)
        self._executor = None
        self._close()

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _background(self) -> concurrent.futures.ThreadPoolExecutor:
        """One thread that prepares, from the first use on."""
        if self._executor is None or self._executor_pid != os.getpid():  # a parent's is not ours
            import concurrent.futures

            self._executor = concurrent.futures.ThreadPoolExecutor(1, "topk-jit-prepare")
            self._executor_pid = os.getpid()
        return self._executor


_lock = threading.Lock()
_default: Optional[Context] = None


def default_context() -> Context:
    """The context of calls without ``context=``: made by the first one, and never closed."""
    global _default
    with _lock:
        if _default is None:
            _default = Context()
        return _default


def _forget_lock() -> None:
    """A forked child may have been made while another thread held it."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_lock)


def _tuples(specs: Iterable[Spec]) -> tuple[tuple[int, ...], ...]:
    return tuple(spec._numbers() for spec in specs)


def prepare(
    *specs: Spec, device: Any = None, stream: Any = None, context: Optional[Context] = None
) -> None:
    """Looks up, compiles and loads all kernels of the specs, so that calls only launch.

    Blocks, without the GIL; may run while another thread captures a graph. A call that was not
    prepared prepares itself, except while its stream is captured.

    Args:
        specs: what to prepare.
        device: the GPU: 1, ``"cuda:1"`` or a torch.device; default: the current one.
        stream: instead of the device: a stream of the GPU and CUDA context to prepare for.
        context: instead of the default one.

    Raises:
        InvalidArgumentError: a field of a spec is out of range.
        DriverError: there is no GPU to prepare for; tensors on the CPU work all the same.
        CompilerError, TemplateError, OfflineMissError: a kernel is in no cache and could not be
            compiled.
    """
    _native.prepare(_tuples(specs), device_number(device), stream, context)


def prepare_async(
    *specs: Spec, device: Any = None, stream: Any = None, context: Optional[Context] = None
) -> concurrent.futures.Future[None]:
    """As `prepare`, on a thread of the context.

    Returns:
        A future, whose ``result()`` raises what `prepare` raises. Without ``device`` and
        ``stream`` the GPU is the first one.
    """
    tuples, number = _tuples(specs), device_number(device)
    chosen = context or default_context()
    return chosen._background().submit(_native.prepare, tuples, number, stream, chosen)


def is_prepared(
    *specs: Spec, device: Any = None, stream: Any = None, context: Optional[Context] = None
) -> bool:
    """Whether calls that need these specs only launch. Arguments as in `prepare`; never blocks."""
    return _native.is_prepared(_tuples(specs), device_number(device), stream, context)


def explain(
    spec: Spec,
    target: Optional[str] = None,
    *,
    device: Any = None,
    stream: Any = None,
    context: Optional[Context] = None,
) -> str:
    """The kernels of a spec, what each is for, and where its code is or why it is in no cache.

    Args:
        spec: what to explain.
        target: such as ``"sm_90"``, which needs no GPU; default: the GPU of device or stream.

    Raises:
        InvalidArgumentError: the spec is out of range, or the target is unknown.
        DriverError: no target is given and there is no GPU.
    """
    return _native.explain(spec._numbers(), target, device_number(device), stream, context)


def statistics(context: Optional[Context] = None) -> Statistics:
    """What a context did so far."""
    return Statistics(*(context or default_context())._statistics())
