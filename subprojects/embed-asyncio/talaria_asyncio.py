# SPDX-License-Identifier: BSD-3-Clause
"""A context of Talaria in an asyncio loop, without a thread.

RPCs carry text. All functions and handlers belong to the loop's thread.
"""
import asyncio
import ctypes
import itertools

_lib = ctypes.CDLL("libtalaria.so.0")

_TRIGGER_MAX = 64  # callbacks and handlers in one turn of the loop
_SUCCESS = 0
_ANSWER, _FAILURE = "+", "-"  # first character of what is sent back
_CB = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class _BulkInfo(ctypes.Structure):
    """struct hg_cb_info_bulk: the largest member of hg_cb_info's union."""

    _fields_ = [
        ("origin_handle", ctypes.c_void_p),
        ("local_handle", ctypes.c_void_p),
        ("op", ctypes.c_int),
        ("size", ctypes.c_uint64),
    ]


class _CallbackInfo(ctypes.Structure):
    """struct hg_cb_info"""

    _fields_ = [
        ("info", _BulkInfo),
        ("arg", ctypes.c_void_p),
        ("type", ctypes.c_int),
        ("ret", ctypes.c_int),
    ]


def _declare(name, result, *arguments):
    function = getattr(_lib, name)
    function.restype = result
    function.argtypes = arguments
    return function


_p, _ret = ctypes.c_void_p, ctypes.c_int
_init = _declare("HG_Init", _p, ctypes.c_char_p, ctypes.c_uint8)
_finalize = _declare("HG_Finalize", _ret, _p)
_context_create = _declare("HG_Context_create", _p, _p)
_context_destroy = _declare("HG_Context_destroy", _ret, _p)
_register = _declare(
    "HG_Register_name", ctypes.c_uint64, _p, ctypes.c_char_p, _p, _p, _CB
)
_addr_self = _declare("HG_Addr_self", _ret, _p, ctypes.POINTER(_p))
_addr_lookup = _declare(
    "HG_Addr_lookup2", _ret, _p, ctypes.c_char_p, ctypes.POINTER(_p)
)
_addr_free = _declare("HG_Addr_free", _ret, _p, _p)
_addr_to_string = _declare(
    "HG_Addr_to_string", _ret, _p, _p, ctypes.POINTER(ctypes.c_uint64), _p
)
_create = _declare(
    "HG_Create", _ret, _p, _p, ctypes.c_uint64, ctypes.POINTER(_p)
)
_destroy = _declare("HG_Destroy", _ret, _p)
_forward = _declare("HG_Forward", _ret, _p, _CB, _p, _p)
_respond = _declare("HG_Respond", _ret, _p, _p, _p, _p)
_get_input = _declare("HG_Get_input", _ret, _p, _p)
_free_input = _declare("HG_Free_input", _ret, _p, _p)
_get_output = _declare("HG_Get_output", _ret, _p, _p)
_free_output = _declare("HG_Free_output", _ret, _p, _p)
_error_text = _declare("HG_Error_to_string", ctypes.c_char_p, _ret)
_wait_fd = _declare("HG_Event_get_wait_fd", ctypes.c_int, _p)
_ready = _declare("HG_Event_ready", ctypes.c_bool, _p)
_progress = _declare(
    "HG_Event_progress", _ret, _p, ctypes.POINTER(ctypes.c_uint)
)
_trigger = _declare("HG_Event_trigger", _ret, _p, ctypes.c_uint, _p)
_string_proc = ctypes.cast(_lib.hg_proc_hg_string_t, _p)


class Error(Exception):
    """An HG function or an RPC failed; args: what failed, its name in HG."""


def _check(ret, what):
    if ret != _SUCCESS:
        raise Error(what, _error_text(ret).decode())


class Context:
    """A class with one context, in the running loop.

    info: the info string. listen: whether other processes may call it.
    Raises Error if the transport does not open; the log has the reason.
    """

    def __init__(self, info, listen=False):
        self._loop = asyncio.get_running_loop()
        self._calls = {}  # number: future
        self._numbers = itertools.count(1)
        self._ids = {}
        self._handlers = []  # keeps the C functions
        self._tasks = set()
        self._scheduled = None
        self._answered = _CB(self._on_answer)
        self._class = _init(info.encode(), listen)
        if not self._class:
            raise Error(info, "HG_Init failed")
        self._context = _context_create(self._class)
        self._fd = _wait_fd(self._context) if self._context else -1
        if self._fd < 0:
            self._destroy()
            raise Error(info, "no context, or one without a descriptor")
        self._loop.add_reader(self._fd, self._work)
        self._schedule()

    def address(self):
        """The address by which others reach this class."""
        addr = _p()
        size = ctypes.c_uint64(256)
        text = ctypes.create_string_buffer(size.value)
        _check(_addr_self(self._class, ctypes.byref(addr)), "HG_Addr_self")
        ret = _addr_to_string(self._class, text, ctypes.byref(size), addr)
        _addr_free(self._class, addr)
        _check(ret, "HG_Addr_to_string")
        return text.value.decode()

    def register(self, name, handler=None):
        """Registers an RPC. handler: an async function from text to text, whose
        exception is an Error of the caller; None: only calls are made."""

        def handle(handle_p):
            text = ctypes.c_char_p()
            ret = _get_input(handle_p, ctypes.byref(text))
            if ret != _SUCCESS:
                return ret  # sent to the origin; the handle is given back
            argument = (text.value or b"").decode(errors="replace")
            _free_input(handle_p, ctypes.byref(text))
            task = self._loop.create_task(
                self._answer(handle_p, handler, argument)
            )
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return _SUCCESS

        function = _CB(handle) if handler else _CB()
        self._handlers.append(function)
        number = _register(
            self._class, name.encode(), _string_proc, _string_proc, function
        )
        if number == 0:
            raise Error(name, "HG_Register_name failed")
        self._ids[name] = number

    async def call(self, address, name, text):
        """Calls a registered RPC at an address; returns its answer."""
        number = next(self._numbers)
        argument = ctypes.c_char_p(text.encode())
        addr, handle = _p(), _p()
        ret = _addr_lookup(self._class, address.encode(), ctypes.byref(addr))
        _check(ret, address)
        ret = _create(
            self._context, addr, self._ids[name], ctypes.byref(handle)
        )
        _addr_free(self._class, addr)
        _check(ret, name)
        future = self._loop.create_future()
        self._calls[number] = future
        ret = _forward(handle, self._answered, number, ctypes.byref(argument))
        if ret != _SUCCESS:
            del self._calls[number]
            _destroy(handle)
        _check(ret, name)
        self._schedule()
        return await future

    async def close(self):
        """Waits for the handlers that are running, then closes the class."""
        while self._tasks:
            await asyncio.wait(self._tasks)
        while self._calls:
            await asyncio.wait(list(self._calls.values()))
        self._loop.remove_reader(self._fd)
        if self._scheduled:
            self._scheduled.cancel()
        self._destroy()

    def _destroy(self):
        if self._context:
            _check(_context_destroy(self._context), "HG_Context_destroy")
        _check(_finalize(self._class), "HG_Finalize")

    async def _answer(self, handle, handler, argument):
        try:
            answer = _ANSWER + await handler(argument)
        except Exception as exception:
            answer = _FAILURE + str(exception)
        text = ctypes.c_char_p(answer.encode())
        ret = _respond(handle, None, None, ctypes.byref(text))
        _destroy(handle)
        self._schedule()
        _check(ret, "HG_Respond")

    def _on_answer(self, info_p):
        info = ctypes.cast(info_p, ctypes.POINTER(_CallbackInfo)).contents
        handle = info.info.origin_handle  # the union's forward.handle
        future = self._calls.pop(info.arg)
        ret, text = info.ret, ctypes.c_char_p()
        if ret == _SUCCESS:
            ret = _get_output(handle, ctypes.byref(text))
        answer = (text.value or b"").decode(errors="replace")
        if ret == _SUCCESS:
            _free_output(handle, ctypes.byref(text))
        _destroy(handle)
        if future.cancelled():
            return _SUCCESS
        if ret != _SUCCESS:
            future.set_exception(Error("call", _error_text(ret).decode()))
        elif answer.startswith(_ANSWER):
            future.set_result(answer[1:])
        else:
            future.set_exception(Error("handler", answer[1:]))
        return _SUCCESS

    def _schedule(self):
        """The loop may not sleep on the descriptor before _work has run."""
        if not self._scheduled:
            self._scheduled = self._loop.call_soon(self._work)

    def _work(self):
        """A batch of the context's work. Sleeping is safe once HG_Event_ready
        has returned that there is nothing to do."""
        count = ctypes.c_uint()
        self._scheduled = None
        ret = _progress(self._context, ctypes.byref(count))
        if ret == _SUCCESS and count.value > 0:
            ret = _trigger(self._context, _TRIGGER_MAX, None)
        if ret != _SUCCESS:
            self._loop.remove_reader(self._fd)
            raise Error("the transport failed", _error_text(ret).decode())
        if _ready(self._context):
            self._schedule()
