#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A server of the RPCs of server.c, and some that only Python has:

    server.py INFO

prints its address and serves until SIGTERM.
"""
import asyncio
import sys

import talaria
from rpcs import Memory, Moved, SumIn, SumOut, Types


def register(hg):
    @hg.handler("sum", SumIn, SumOut)
    def sum_(request):
        return SumOut(sum(request.input))

    @hg.handler("types", Types, Types)
    async def types(request):
        return request.input

    @hg.handler("echo")
    async def echo(request):
        if not request.input:
            raise talaria.Error(talaria.ReturnCode.HG_NODEV, "nothing to echo")
        return request.input

    @hg.handler("refuse", SumIn, SumOut)
    def refuse(request):
        raise talaria.AccessError(talaria.ReturnCode.HG_PERMISSION)

    @hg.handler("drop", SumIn, SumOut)
    def drop(request):
        request.drop()

    memory = bytearray()

    @hg.handler("ends", Memory, Moved)
    async def ends(request):
        bulk = request.input.bulk
        if len(memory) < len(bulk):
            memory.extend(bytes(len(bulk) - len(memory)))
        await hg.pull(request.address, bulk, memory, size=len(bulk))
        return Moved(0, memory[0] << 8 | memory[len(bulk) - 1])

    @hg.handler("fill", Memory, Moved)
    async def fill(request):
        data = bytes([request.input.value]) * len(request.input.bulk)
        return Moved(
            0, await hg.push(request.address, request.input.bulk, data)
        )

    @hg.handler("lent to")
    async def lent_to(request):
        lend = hg.register("lend", Memory, None)
        with hg.expose(bytearray(64 << 20)) as bulk:
            await lend(request.input.decode(), Memory(bulk, 0))

    @hg.handler("later")
    async def later(request):
        await asyncio.sleep(float(request.input))
        return b"late"

    @hg.handler("ret", SumIn, SumOut, failure=lambda error: SumOut(-error.code))
    async def ret(request):
        await asyncio.sleep(0)
        raise talaria.Error(request.input.a)

    @hg.handler("nothing", None, None)
    def nothing(request):
        return None

    @hg.handler("sent", response=False)
    def sent(request):
        hg.sent = getattr(hg, "sent", b"") + request.input

    @hg.handler("were_sent")
    def were_sent(request):
        return getattr(hg, "sent", b"")


async def main(info):
    async with talaria.Class(info, listen=True) as hg:
        register(hg)
        print(hg.address, flush=True)
        await hg.serve()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
