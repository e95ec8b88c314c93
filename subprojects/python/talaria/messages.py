# SPDX-License-Identifier: BSD-3-Clause
"""Messages: NamedTuples whose fields are encoded as the procs of C do it.

    class SumIn(NamedTuple):
        a: talaria.Int32
        b: talaria.Int32

is what MERCURY_GEN_PROC(sum_in_t, ((int32_t)(a))((int32_t)(b))) generates.
"""
from __future__ import annotations

import types
import typing
from typing import Annotated, Any, Union

from ._talaria import Bulk, Format


class Code(str):
    """How one field is encoded: see src/format.c."""


Int8 = Annotated[int, Code("b")]
Int16 = Annotated[int, Code("h")]
Int32 = Annotated[int, Code("i")]
Int64 = Annotated[int, Code("q")]
UInt8 = Annotated[int, Code("B")]
UInt16 = Annotated[int, Code("H")]
UInt32 = Annotated[int, Code("I")]
UInt64 = Annotated[int, Code("Q")]
Bool = Annotated[bool, Code("?")]
Float32 = Annotated[float, Code("f")]
Float64 = Annotated[float, Code("d")]
String = Annotated[str, Code("s")]
Bytes = Annotated[bytes, Code("y")]

_OPTIONAL = {"s": "z", "m": "n"}
_REPLY = Format("r")
_BYTES = Format("y")
_formats: dict[type, Format] = {}


def _code(annotation: Any) -> str | None:
    if annotation is Bulk:
        return "m"
    if annotation is bytes:
        return "y"
    if annotation is str:
        return "s"
    if annotation is bool:
        return "?"
    if typing.get_origin(annotation) is Annotated:
        for item in annotation.__metadata__:
            if isinstance(item, Code):
                return str(item)
    if typing.get_origin(annotation) in (Union, types.UnionType):
        members = [
            member
            for member in typing.get_args(annotation)
            if member is not type(None)
        ]
        if len(members) == 1:
            return _OPTIONAL.get(_code(members[0]) or "")
    return None


def format_of(message: Any, reply: bool) -> Format | None:
    """The format of a message class, of bytes, or None for no message."""
    if message is None:
        return None
    if message is bytes:
        return _REPLY if reply else _BYTES
    if not (
        isinstance(message, type)
        and issubclass(message, tuple)
        and hasattr(message, "_fields")
    ):
        raise TypeError(f"neither a NamedTuple nor bytes nor None: {message!r}")
    known = _formats.get(message)
    if known:
        return known
    hints = typing.get_type_hints(message, include_extras=True)
    codes = ""
    for field in message._fields:
        code = _code(hints.get(field))
        if not code:
            raise TypeError(
                f"{message.__name__}.{field}: {hints.get(field)!r} has no proc"
            )
        codes += code
    made = _formats[message] = Format(codes, message)
    return made
