# SPDX-License-Identifier: BSD-3-Clause
"""Calls and transfers leave nothing behind."""
import asyncio
import gc
import sys
import tracemalloc
import unittest
import weakref

import talaria
from rpcs import Memory, Moved, SumIn, SumOut, Types
from server import register
from support import C_SERVER, INFO, Server, main, with_class
from test_calls import EXTREMES

CALLS = 10000
BOUND = 20000  # bytes: far less than one a call


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


class Leaks(unittest.TestCase):
    async def constant(self, repeat):
        """repeat(count): what must not take memory."""
        tracemalloc.start()
        await repeat(CALLS)  # fills free lists, of other sizes with ASan
        gc.collect()
        before, size = tracemalloc.get_traced_memory()[0], resident()
        await repeat(CALLS)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        self.assertLess(after - before, BOUND)
        self.assertLess(resident() - size, 8 << 20)

    def test_calls_take_no_memory(self):
        @with_class
        async def check(self, hg, server):
            call = hg.register("types", Types, Types)
            echo = hg.register("echo")
            refuse = hg.register("refuse", SumIn, SumOut)
            address = hg.lookup(server.address)

            async def repeat(count):
                for _ in range(count // 4):
                    await call(address, EXTREMES)
                    await echo(server.address, b"x" * 1000)
                    for wrong in (echo(address), refuse(address, (1, 2))):
                        try:
                            await wrong
                        except talaria.Error:
                            pass

            await self.constant(repeat)

        with Server(C_SERVER) as server:
            check(self, server)

    def test_handlers_and_transfers_take_no_memory(self):
        @with_class
        async def check(self, hg):
            register(hg)
            names = {"fill": 1, "ends": 2}
            calls = [hg.register(name, Memory, Moved) for name in names]
            refuse = hg.register("refuse", SumIn, SumOut)
            types = hg.register("types", Types, Types)
            address = hg.lookup(hg.address)
            data = bytearray(1000)

            async def repeat(count):
                for _ in range(count // 8):
                    with hg.expose(data) as bulk:
                        for call in calls:
                            await call(address, Memory(bulk, 3))
                    await types(address, EXTREMES)
                    try:
                        await refuse(address, SumIn(1, 2))
                    except talaria.AccessError:
                        pass

            await self.constant(repeat)

        check(self)

    def test_cancelled_and_late_calls_take_no_memory(self):
        @with_class
        async def check(self, hg):
            register(hg)
            drop = hg.register("drop", SumIn, SumOut)
            address = hg.lookup(hg.address)

            async def repeat(count):
                for _ in range(count // 10):
                    call = drop(address, SumIn(1, 2))
                    await asyncio.sleep(0)
                    call.cancel()
                    while hg._busy:
                        await asyncio.sleep(0)

            await self.constant(repeat)

        check(self)

    def test_references_are_given_back(self):
        @with_class
        async def check(self, hg):
            hg.handler("same")(lambda request: request.input)
            same = hg.register("same")
            address, data = hg.lookup(hg.address), bytearray(5000)
            watched = (hg, same, address, data, talaria.Request, talaria.Bulk)
            gc.collect()
            before = [sys.getrefcount(thing) for thing in watched]
            for _ in range(100):
                await same(address, data)
                with hg.expose(data):
                    pass
            gc.collect()
            self.assertEqual(
                [sys.getrefcount(thing) for thing in watched], before
            )
            data.append(1)

        check(self)

    def test_classes_are_freed(self):
        used = []

        async def use():
            async with talaria.Class(INFO, listen=True) as hg:
                used.append(weakref.ref(hg))
                register(hg)
                await hg.register("echo")(hg.address, b"1")

        for _ in range(3):
            asyncio.run(use())
        gc.collect()
        self.assertEqual([reference() for reference in used], [None] * 3)

    def test_class_that_is_not_closed_warns(self):
        async def use():
            hg = talaria.Class(INFO)
            await asyncio.sleep(0)
            asyncio.get_running_loop().remove_reader(hg._fd)

        with self.assertWarns(ResourceWarning):
            asyncio.run(use())
            gc.collect()


if __name__ == "__main__":
    main()
