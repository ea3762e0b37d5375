# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class for each kind of status of the library."""
from __future__ import annotations


class TopkJitError(Exception):
    """The library refused or failed.

    Attributes:
        status: number of the status, as in ``topk_jit.h``.
        name: its name, such as ``"INVALID_ARGUMENT"``.
        message: what the library says: the argument, what was given and what is expected.
        native_code: CUresult, nvrtcResult or errno behind it, or 0.
    """

    def __init__(self, status: int, name: str, native_code: int, message: str) -> None:
        super().__init__(status, name, native_code, message)
        self.status = status
        self.name = name
        self.native_code = native_code
        self.message = message

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


class InvalidArgumentError(TopkJitError, ValueError):
    """An argument is wrong; nothing was enqueued and no output was written."""


class NotSupportedError(TopkJitError, NotImplementedError):
    """A legal request that this version of the library does not offer."""


class NotPreparedError(TopkJitError, RuntimeError):
    """The stream is being captured and the spec was not prepared. The capture goes on."""


class OutOfMemoryError(TopkJitError, MemoryError):
    """There was no memory on the host."""


class TemplateError(TopkJitError, RuntimeError):
    """The kernel templates are missing, of another version, or not to be trusted."""


class CompilerError(TopkJitError, RuntimeError):
    """NVRTC was not found, is too old, or did not compile a kernel."""


class DriverError(TopkJitError, RuntimeError):
    """There is no CUDA driver or device, or the driver refused."""


class SystemFailedError(TopkJitError, RuntimeError):
    """A system call or the cache failed."""


class OfflineMissError(SystemFailedError):
    """The mode is offline and no cache has the kernel. The message has the command that adds it."""


_BY_STATUS: dict[int, type[TopkJitError]] = {
    1: InvalidArgumentError,
    2: NotSupportedError,
    3: NotPreparedError,
    4: OutOfMemoryError,
    42: OfflineMissError,
}
_BY_DOMAIN: dict[int, type[TopkJitError]] = {
    1: TemplateError,
    2: CompilerError,
    3: DriverError,
    4: SystemFailedError,
}


def make_error(status: int, name: str, native_code: int, message: str) -> TopkJitError:
    """The exception of a status."""
    kind = _BY_STATUS.get(status) or _BY_DOMAIN.get(status // 10, TopkJitError)
    return kind(status, name, native_code, message)
