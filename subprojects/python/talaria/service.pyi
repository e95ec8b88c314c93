# SPDX-License-Identifier: BSD-3-Clause
import asyncio
import enum
import signal
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, overload

from typing_extensions import Buffer

from . import _talaria
from ._talaria import Address, Bulk, Request

In = TypeVar("In")
Out = TypeVar("Out")
Handler = TypeVar("Handler", bound=Callable[[Request], Any])

class Access(enum.IntFlag):
    READ = ...
    WRITE = ...
    READ_WRITE = ...

class Call(asyncio.Future[Out]): ...
class Transfer(asyncio.Future[int]): ...

class Rpc(_talaria.Rpc, Generic[In, Out]):
    def __call__(
        self,
        address: Address | str,
        message: In | None = None,
        *,
        timeout: float | None = None,
    ) -> Call[Out]: ...

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
    ) -> Rpc[Buffer, bytes]: ...
    @overload
    def register(
        self,
        name: str,
        input: type[In] | None,
        output: type[Out],
        *,
        response: bool = True,
    ) -> Rpc[In, Out]: ...
    @overload
    def register(
        self,
        name: str,
        input: type[In] | None,
        output: None,
        *,
        response: bool = True,
    ) -> Rpc[In, None]: ...
    def handler(
        self,
        name: str,
        input: type | None = ...,
        output: type | None = ...,
        *,
        response: bool = True,
        failure: Callable[[Exception], Any] | None = None,
    ) -> Callable[[Handler], Handler]: ...
    def expose(self, buffer: Buffer, access: Access | None = None) -> Bulk: ...
    def pull(
        self,
        address: Address | str,
        remote: Bulk,
        local: Bulk | Buffer,
        *,
        remote_offset: int = 0,
        local_offset: int = 0,
        size: int | None = None,
    ) -> Transfer: ...
    def push(
        self,
        address: Address | str,
        remote: Bulk,
        local: Bulk | Buffer,
        *,
        remote_offset: int = 0,
        local_offset: int = 0,
        size: int | None = None,
    ) -> Transfer: ...
    async def serve(self, signals: Iterable[signal.Signals] = ...) -> None: ...
    async def close(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
