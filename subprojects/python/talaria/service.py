# SPDX-License-Identifier: BSD-3-Clause
"""Classes, calls and transfers in an asyncio loop, without a thread."""
from __future__ import annotations

import asyncio
import enum
import json
import signal
import types
import warnings

from . import _talaria
from .errors import Error, HandlerError, ReturnCode, code_of
from .messages import format_of


class Access(enum.IntFlag):
    """What peers may do with exposed memory."""

    READ = _talaria.READ
    WRITE = _talaria.WRITE
    READ_WRITE = _talaria.READ_WRITE


class Call(asyncio.Future):
    """The answer of a call; cancelling it cancels the call."""

    _operation = None

    def cancel(self, msg=None):
        if self.done():
            return False
        if self._operation:
            self._operation.cancel()
        return super().cancel(msg)

    def _refused(self, code, text):
        return HandlerError(code, text)


class Transfer(asyncio.Future):
    """The bytes that a transfer moved. Cancelled, it ends when the library no
    longer uses the memory."""

    _operation = None
    _message = None

    def cancel(self, msg=None):
        if self.done():
            return False
        if not self._operation:
            return super().cancel(msg)
        self._message = msg
        self._operation.cancel()
        return True

    def _canceled(self):
        super().cancel(self._message)


class Rpc(_talaria.Rpc):
    """A registered RPC, to be called with an address."""

    __class_getitem__ = classmethod(types.GenericAlias)

    def __new__(cls, owner, name, formats, handler, response, failure):
        rpc = super().__new__(cls, owner, name, *formats, handler, response)
        rpc._owner = owner
        rpc._form = (formats, response)
        rpc._empty = b"" if formats[0] is format_of(bytes, False) else None
        rpc._failure = failure
        return rpc

    def __call__(self, address, message=None, *, timeout=None):
        owner = self._owner
        call = Call(loop=owner._loop)
        if message is None:
            message = self._empty
        try:
            call._operation = self._forward(address, message, timeout, call)
        except Error as error:
            call.set_exception(error)
        else:
            if not owner._scheduled:
                owner._schedule()
        return call


class Class(_talaria.Class):
    """A class with one context, in the running loop."""

    def __new__(
        cls,
        info,
        listen=False,
        *,
        auto_sm=False,
        stats=False,
        auth_key=None,
        settings=None,
    ):
        loop = asyncio.get_running_loop()
        pairs = tuple(f"{key}={value}" for key, value in (settings or {}).items())
        self = super().__new__(
            cls, info, listen, auto_sm, stats, auth_key, pairs
        )
        self._loop = loop
        self._listening = listen
        self._scheduled = False
        self._rpcs = {}
        self._tasks = set()
        self._quiet = None
        self._closing = None
        self._reader = self._fd
        if self._reader < 0:
            self._destroy()
            raise Error(
                ReturnCode.HG_OPNOTSUPPORTED,
                f"{info}: the transport has no descriptor to wait on",
            )
        loop.add_reader(self._reader, self._readable)
        self._schedule()
        return self

    # RPCs

    def register(self, name, input=bytes, output=bytes, *, response=True):
        """Makes an RPC of a name, to be called."""
        return self._register(name, input, output, None, response, None)

    def handler(
        self, name, input=bytes, output=bytes, *, response=True, failure=None
    ):
        """Decorates the function that handles an RPC."""

        def decorate(function):
            self._register(name, input, output, function, response, failure)
            return function

        return decorate

    def _register(self, name, input, output, handler, response, failure):
        """The library has one registration of a name: a handler stays when the
        name is registered for calls, too."""
        formats = (format_of(input, False), format_of(output, True))
        known = self._rpcs.get(name)
        if known and known._form != (formats, response):
            raise ValueError(f"{name} is registered with other messages")
        if known and not handler:
            return known
        rpc = Rpc(self, name, formats, handler, response, failure)
        self._rpcs[name] = rpc
        return rpc

    # Memory

    def expose(self, buffer, access=None):
        """Makes a Bulk of the memory of a buffer, which is not copied."""
        return self._expose(buffer, -1 if access is None else int(access))

    def pull(self, address, remote, local, **where):
        """Transfers from a peer's memory into a local Bulk or buffer."""
        return self._move(1, address, remote, local, where)

    def push(self, address, remote, local, **where):
        """Transfers from a local Bulk or buffer into a peer's memory."""
        return self._move(0, address, remote, local, where)

    def _move(self, pull, address, remote, local, where):
        remote_offset = where.pop("remote_offset", 0)
        local_offset = where.pop("local_offset", 0)
        size = where.pop("size", None)
        if where:
            raise TypeError(f"unexpected arguments: {', '.join(where)}")
        if not isinstance(local, _talaria.Bulk):
            local = self._expose(local, Access.WRITE if pull else Access.READ)
        if size is None:
            size = max(
                0, min(len(remote) - remote_offset, len(local) - local_offset)
            )
        transfer = Transfer(loop=self._loop)
        try:
            transfer._operation = self._transfer(
                pull,
                address,
                remote,
                remote_offset,
                local,
                local_offset,
                size,
                transfer,
            )
        except Error as error:
            transfer.set_exception(error)
        else:
            if not self._scheduled:
                self._schedule()
        return transfer

    # Statistics

    def stats(self):
        """What talaria_class_stats_json counts, if opened with stats."""
        return json.loads(self._stats_json())

    # Handlers

    def _start(self, request, awaitable):
        """The handler has returned an awaitable: the answer is its result."""
        task = self._loop.create_task(self._answer(request, awaitable))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, request, awaitable):
        try:
            result = await awaitable
            if not request.done:
                request.respond(result)
        except asyncio.CancelledError:
            self._failed(request, Error(ReturnCode.HG_CANCELED, "handler"))
            raise
        except Exception as error:
            self._failed(request, error)
        if not self._scheduled and not self.closed:
            self._schedule()

    def _failed(self, request, error):
        """Reports to the origin that the handler failed."""
        if not isinstance(error, Error):
            self._loop.call_exception_handler(
                {
                    "message": f"the handler of {request.name} failed",
                    "exception": error,
                }
            )
        try:
            if not request.done:
                self._refuse(request, error)
        except Exception as second:  # of `failure`, or a lack of memory
            self._loop.call_exception_handler(
                {
                    "message": f"{request.name}: no answer, request dropped",
                    "exception": second,
                }
            )
            if not request.done:
                request.drop()

    def _refuse(self, request, error):
        if not request.rpc._form[1]:  # the origin expects no response
            request.respond(None)
            return
        failure = request.rpc._failure
        if failure:
            request.respond(failure(error))
            return
        words = error.words if isinstance(error, Error) else str(error)
        words = words.replace("\0", "?") or type(error).__name__
        if not request._fail(int(code_of(error)), words):
            request.drop()

    # Progress

    def _schedule(self):
        """The loop may not sleep before _work has run: something was
        submitted."""
        self._scheduled = True
        self._loop.call_soon(self._work)

    def _readable(self):
        if not self._scheduled:
            self._work()

    def _work(self):
        """A batch of the context's work. The loop may wait on the descriptor
        once _progress has returned that there is no more."""
        if self.closed:
            return
        self._scheduled = True  # what this runs need not schedule
        try:
            more = self._progress()
        except Error:
            self._loop.remove_reader(self._reader)
            self._scheduled = False
            raise
        if more:
            self._loop.call_soon(self._work)
        else:
            self._scheduled = False
        if self._quiet and not self._busy and not self._quiet.done():
            self._quiet.set_result(None)

    # Closing

    async def serve(self, signals=(signal.SIGTERM, signal.SIGINT)):
        """Serves until a signal arrives, and closes the class."""
        stop = asyncio.Event()
        for number in signals:
            self._loop.add_signal_handler(number, stop.set)
        try:
            await stop.wait()
        finally:
            await self.close()
            for number in signals:
                self._loop.remove_signal_handler(number)

    async def close(self):
        """Answers what handlers have begun, and closes the class."""
        if self._closing is None:
            self._closing = self._loop.create_task(self._close())
        try:
            await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            self._cancel_handlers()
            await asyncio.shield(self._closing)
            raise

    async def _close(self):
        if self._listening:
            self._unpost()
        self._schedule()
        await self._finish_handlers()
        self._cancel_operations()
        while self._busy:
            self._quiet = self._loop.create_future()
            if not self._scheduled:
                self._schedule()
            await self._undisturbed(self._quiet)
        self._loop.remove_reader(self._reader)
        self._rpcs.clear()
        self._destroy()

    async def _finish_handlers(self):
        """Waits until requests that have arrived are answered."""
        while self._scheduled or self._tasks:
            if self._tasks:
                await self._undisturbed(asyncio.wait(set(self._tasks)))
            else:
                await self._undisturbed(asyncio.sleep(0))

    async def _undisturbed(self, awaitable):
        """Waits for one step of closing, which cannot be left half done: when
        it is cancelled, the handlers are."""
        try:
            await awaitable
        except asyncio.CancelledError:
            self._cancel_handlers()

    def _cancel_handlers(self):
        for task in self._tasks:
            task.cancel()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        await self.close()

    def __del__(self):
        if not self.closed:
            warnings.warn(
                "a talaria.Class was not closed", ResourceWarning, source=self
            )
