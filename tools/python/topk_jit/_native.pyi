# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from typing import Any, Callable, Optional

class Context:
    @property
    def closed(self) -> bool: ...
    def _open(
        self,
        cache_dir: Optional[str],
        template_dir: Optional[str],
        nvrtc: Optional[str],
        nvrtc_hint: Optional[str],
        ro_dirs: Optional[str],
        mode: int,
        toolchain: int,
        shared: int,
        lock_timeout_ms: int,
        cache_max_bytes: int,
        record_file: Optional[str],
        log_level: int,
        log: Optional[Callable[[int, str], object]],
        /,
    ) -> None: ...
    def _close(self) -> None: ...
    def _statistics(self) -> tuple[int, ...]: ...

class Selector:
    def _open(self, *constants: Any) -> None: ...

def load(path: str, /) -> str: ...
def configure(callbacks: Mapping[str, Callable[..., Any]], /) -> None: ...
def select(*arguments: Any) -> Any: ...
def workspace_size(*arguments: Any) -> int: ...
def fast_topk(*arguments: Any) -> tuple[Any, Any]: ...
def prepare(
    specs: tuple[tuple[int, ...], ...], device: int, stream: Any, context: Optional[Context], /
) -> None: ...
def is_prepared(
    specs: tuple[tuple[int, ...], ...], device: int, stream: Any, context: Optional[Context], /
) -> bool: ...
def explain(
    spec: tuple[int, ...],
    target: Optional[str],
    device: int,
    stream: Any,
    context: Optional[Context],
    /,
) -> str: ...
def format_check_counts(*counts: int) -> str: ...
