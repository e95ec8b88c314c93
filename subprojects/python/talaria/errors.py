# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions: one for each group of the library's return codes."""
from __future__ import annotations

import enum


class ReturnCode(enum.IntEnum):
    """hg_return_t; mercury_types.h describes each."""

    HG_SUCCESS = 0
    HG_PERMISSION = 1
    HG_NOENTRY = 2
    HG_INTERRUPT = 3
    HG_AGAIN = 4
    HG_NOMEM = 5
    HG_ACCESS = 6
    HG_FAULT = 7
    HG_BUSY = 8
    HG_EXIST = 9
    HG_NODEV = 10
    HG_INVALID_ARG = 11
    HG_PROTOCOL_ERROR = 12
    HG_OVERFLOW = 13
    HG_MSGSIZE = 14
    HG_PROTONOSUPPORT = 15
    HG_OPNOTSUPPORTED = 16
    HG_ADDRINUSE = 17
    HG_ADDRNOTAVAIL = 18
    HG_HOSTUNREACH = 19
    HG_TIMEOUT = 20
    HG_CANCELED = 21
    HG_IO_ERROR = 22
    HG_HOSTFIREWALL = 23
    HG_CHECKSUM_ERROR = 24
    HG_NA_ERROR = 25
    HG_OTHER_ERROR = 26


class Error(Exception):
    """An operation failed. code: the library's; words: the rest of the text.

    A handler raises it, or a subclass, to answer with that code.
    """

    def __init__(
        self, code: int, words: str = "", name: str | None = None
    ) -> None:
        try:
            self.code: int = ReturnCode(code)
            name = name or ReturnCode(code).name
        except ValueError:  # of a newer library
            self.code = code
            name = name or str(code)
        self.words = words
        self.name = name
        super().__init__(f"{words}: {name}" if words else name)


class DeadlineError(Error, TimeoutError):
    """The deadline of a call has passed."""


class UnreachableError(Error, ConnectionError):
    """The peer, or the way to it, has failed."""


class CanceledError(Error):
    """The library cancelled the operation. (A cancelled task gets
    asyncio.CancelledError.)"""


class MessageError(Error):
    """A message is malformed, altered or too large."""


class UnknownRpcError(Error):
    """The target has not registered the RPC."""


class AccessError(Error, PermissionError):
    """Not allowed."""


class ResourceError(Error):
    """Short of memory or of another resource."""


class HandlerError(Error):
    """The target's handler failed; words: its message."""


_C = ReturnCode
_CLASSES: dict[int, type[Error]] = {
    _C.HG_TIMEOUT: DeadlineError,
    _C.HG_HOSTUNREACH: UnreachableError,
    _C.HG_HOSTFIREWALL: UnreachableError,
    _C.HG_IO_ERROR: UnreachableError,
    _C.HG_CANCELED: CanceledError,
    _C.HG_PROTOCOL_ERROR: MessageError,
    _C.HG_CHECKSUM_ERROR: MessageError,
    _C.HG_MSGSIZE: MessageError,
    _C.HG_OVERFLOW: MessageError,
    _C.HG_NOENTRY: UnknownRpcError,
    _C.HG_PERMISSION: AccessError,
    _C.HG_ACCESS: AccessError,
    _C.HG_NOMEM: ResourceError,
    _C.HG_AGAIN: ResourceError,
}


def make(code: int, name: str, words: str) -> Error:
    """Makes the exception of a code; name: the library's word for it."""
    return _CLASSES.get(code, Error)(code, words, name)


def code_of(error: BaseException) -> int:
    """The code that reports an exception to a peer."""
    if isinstance(error, Error):
        return error.code
    if isinstance(error, TimeoutError):
        return ReturnCode.HG_TIMEOUT
    if isinstance(error, PermissionError):
        return ReturnCode.HG_ACCESS
    if isinstance(error, MemoryError):
        return ReturnCode.HG_NOMEM
    if isinstance(error, (TypeError, ValueError)):
        return ReturnCode.HG_INVALID_ARG
    return ReturnCode.HG_OTHER_ERROR
