# SPDX-License-Identifier: BSD-3-Clause
import asyncio
import enum
import signal
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, overload

from _typeshed import ReadableBuffer

from . import _talaria
from ._talaria import Address, Bulk, Request

_In = TypeVar("_In")
_Out = TypeVar("_Out")
_Handler = TypeVar("_Handler", bound=Callable[[Request], Any])

class Access(enum.IntFlag):
    READ = 1
    WRITE = 2
    READ_WRITE = 3

class Call(asyncio.Future[_Out]): ...
class Transfer(asyncio.Future[int]): ...

class Rpc(_talaria.Rpc, Generic[_In, _Out]):
    def __call__(
        self,
        address: Address | str,
        message: _In | None = None,
        *,
        timeout: float | None = None,
    ) -> Call[_Out]: ...

class Class(_talaria.Class):
    def __new__(
        cls,
        info: str,
        listen: bool = False,
        *,
        auto_sm: bool = False,
        stats: bool = False,
        auth_key: str | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> Self: ...
    @overload
    def register(
        self, name: str, *, response: bool = True
    ) -> Rpc[ReadableBuffer, bytes]: ...
    @overload
    def register(
        self,
        name: str,
        input: type[_In] | None,
        output: type[_Out],
        *,
        response: bool = True,
    ) -> Rpc[_In, _Out]: ...
    @overload
    def register(
        self,
        name: str,
        input: type[_In] | None,
        output: None,
        *,
        response: bool = True,
    ) -> Rpc[_In, None]: ...
    def handler(
        self,
        name: str,
        input: type | None = ...,
        output: type | None = ...,
        *,
        response: bool = True,
        failure: Callable[[Exception], Any] | None = None,
    ) -> Callable[[_Handler], _Handler]: ...
    def expose(self, buffer: ReadableBuffer, access: Access | None = None) -> Bulk: ...
    def pull(
        self,
        address: Address | str,
        remote: Bulk,
        local: Bulk | ReadableBuffer,
        *,
        remote_offset: int = 0,
        local_offset: int = 0,
        size: int | None = None,
    ) -> Transfer: ...
    def push(
        self,
        address: Address | str,
        remote: Bulk,
        local: Bulk | ReadableBuffer,
        *,
        remote_offset: int = 0,
        local_offset: int = 0,
        size: int | None = None,
    ) -> Transfer: ...
    def stats(self) -> dict[str, Any]: ...
    async def serve(self, signals: Iterable[signal.Signals] = ...) -> None: ...
    async def close(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
