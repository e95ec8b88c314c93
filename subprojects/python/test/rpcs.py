# SPDX-License-Identifier: BSD-3-Clause
"""The RPCs of the tests: what rpcs.h has for C."""
from typing import NamedTuple

import talaria


class SumIn(NamedTuple):
    a: talaria.Int32
    b: talaria.Int32


class SumOut(NamedTuple):
    sum: talaria.Int32


class Types(NamedTuple):
    b: talaria.Int8
    h: talaria.Int16
    i: talaria.Int32
    q: talaria.Int64
    B: talaria.UInt8
    H: talaria.UInt16
    I: talaria.UInt32
    Q: talaria.UInt64
    truth: talaria.Bool
    text: talaria.String
    none: talaria.String | None
    bytes: talaria.Bytes


class Memory(NamedTuple):
    bulk: talaria.Bulk
    value: talaria.UInt8


class Moved(NamedTuple):
    ret: talaria.Int32
    size: talaria.UInt64
