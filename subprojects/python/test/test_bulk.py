# SPDX-License-Identifier: BSD-3-Clause
"""Transfers into and out of the memory of buffers, in place."""
import array
import asyncio
import tracemalloc
import unittest

import talaria
from rpcs import Memory, Moved
from support import C_SERVER, INFO, PYTHON_SERVER, Server, main, with_class

try:
    import numpy
except ImportError:
    numpy = None

SIZE = 4 << 20


class OverBoth(unittest.TestCase):
    def both(self, check):
        for command in (C_SERVER, PYTHON_SERVER):
            with self.subTest(server=str(command[-1])):
                with Server(command) as server:
                    check(self, server)

    @unittest.skipUnless(numpy, "no NumPy")
    def test_numpy_array_is_filled_in_place(self):
        @with_class
        async def check(self, hg, server):
            fill = hg.register("fill", Memory, Moved)
            data = numpy.zeros((512, SIZE // 2048), dtype=numpy.float32)
            place = data.ctypes.data
            tracemalloc.start()
            with hg.expose(data) as bulk:
                moved = await fill(server.address, Memory(bulk, 0x3F))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            self.assertEqual(moved, Moved(0, SIZE))
            self.assertTrue((data.view(numpy.uint8) == 0x3F).all())
            self.assertEqual(data.ctypes.data, place)
            self.assertLess(peak, SIZE // 4)

        self.both(check)

    @unittest.skipUnless(numpy, "no NumPy")
    def test_numpy_array_is_read_in_place(self):
        @with_class
        async def check(self, hg, server):
            ends = hg.register("ends", Memory, Moved)
            data = numpy.arange(SIZE, dtype=numpy.uint8)
            data.setflags(write=False)
            tracemalloc.start()
            with hg.expose(data) as bulk:
                moved = await ends(server.address, Memory(bulk, 0))
                _, peak = tracemalloc.get_traced_memory()
                tracemalloc.stop()
                self.assertEqual(bulk.flags, talaria.Access.READ)
            self.assertEqual(moved.size, 255)
            self.assertLess(peak, SIZE // 4)

        self.both(check)

    def test_allocated_memory_is_filled_in_place(self):
        @with_class
        async def check(self, hg, server):
            fill = hg.register("fill", Memory, Moved)
            memory = hg.allocate(SIZE)
            self.assertEqual(len(memory), SIZE)
            view = memoryview(memory)
            self.assertFalse(view.readonly)
            self.assertEqual(view[:100], bytes(100))
            tracemalloc.start()
            with hg.expose(memory) as bulk:
                moved = await fill(server.address, Memory(bulk, 0x3F))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            self.assertEqual(moved, Moved(0, SIZE))
            self.assertEqual(view[-3:], b"???")
            self.assertLess(peak, SIZE // 4)

        self.both(check)

    def test_bytearray_and_array_and_view_are_filled(self):
        @with_class
        async def check(self, hg, server):
            fill = hg.register("fill", Memory, Moved)
            large = bytearray(100000)
            for data in (
                bytearray(100000),
                array.array("i", [0]) * 25000,
                memoryview(large)[10:90010],
            ):
                with hg.expose(data) as bulk:
                    await fill(server.address, Memory(bulk, 9))
                self.assertEqual(
                    set(memoryview(data).cast("B")), {9}, type(data)
                )
            self.assertEqual(large[:10] + large[-10:], bytes(20))
            self.assertEqual((large[9], large[10]), (0, 9))

        self.both(check)


class WithinOneClass(unittest.TestCase):
    """Transfers with oneself, which are copies in memory."""

    def test_ranges_and_offsets(self):
        @with_class
        async def check(self, hg):
            source, target = bytearray(range(100)), bytearray(100)
            received = asyncio.get_running_loop().create_future()
            address = hg.lookup(hg.address)

            @hg.handler("hand over", Memory, None)
            async def hand_over(request):
                bulk = request.input.bulk
                self.assertFalse(bulk.is_local)
                moved = await hg.pull(
                    request.address, bulk, target,
                    remote_offset=10, local_offset=20, size=30,
                )  # fmt: skip
                received.set_result(moved)

            with hg.expose(source, talaria.Access.READ) as bulk:
                self.assertTrue(bulk.is_local)
                self.assertEqual(len(bulk), 100)
                await hg.register("hand over", Memory, None)(
                    address, Memory(bulk, 0)
                )
            self.assertEqual(await received, 30)
            self.assertEqual(
                target, bytes(20) + bytes(range(10, 40)) + bytes(50)
            )

        check(self)

    def test_allocated_memory_is_freed_when_unused(self):
        @with_class
        async def check(self, hg):
            memory = hg.allocate(10)
            view = memoryview(memory)
            with self.assertRaises(BufferError):
                memory.free()
            view.release()
            memory.free()
            memory.free()
            self.assertEqual(len(memory), 0)
            with self.assertRaises(BufferError):
                memoryview(memory)
            for size in (0, -1):
                with self.assertRaises(ValueError):
                    hg.allocate(size)
            with self.assertRaises(OverflowError):
                hg.allocate(1 << 64)
            with self.assertRaises(talaria.ResourceError):
                hg.allocate(1 << 60)

        check(self)

    @unittest.skipUnless(numpy, "no NumPy")
    def test_view_of_allocated_memory_outlives_the_class(self):
        kept = []

        @with_class
        async def check(self, hg):
            memory = hg.allocate(SIZE)
            numbers = numpy.frombuffer(memory, dtype=numpy.float64)
            numbers[:] = 7
            kept.extend([memory, numbers, hg])

        check(self)
        memory, numbers, hg = kept
        kept.clear()
        self.assertTrue(hg.closed)
        self.assertEqual(numbers.sum(), 7 * SIZE // 8)
        with self.assertRaises(BufferError):
            memory.free()
        with self.assertRaises(BufferError):
            memoryview(memory)
        del numbers
        self.assertEqual(len(memory), 0)
        memory.free()

    def test_nothing_is_transferred(self):
        @with_class
        async def check(self, hg):
            for nothing in (b"", bytearray(), memoryview(b"x")[1:]):
                with hg.expose(nothing) as bulk:
                    self.assertEqual(
                        await hg.pull(hg.address, bulk, bytearray(8)), 0
                    )

        check(self)

    def test_access_is_checked(self):
        @with_class
        async def check(self, hg):
            address = hg.lookup(hg.address)
            with hg.expose(b"constant") as bulk:
                with self.assertRaises(talaria.AccessError):
                    await hg.push(address, bulk, b"changed!")
                with self.assertRaises(BufferError):
                    hg.expose(b"constant", talaria.Access.READ_WRITE)
                with self.assertRaises(BufferError):
                    hg.pull(address, bulk, b"constant")
            with self.assertRaises(talaria.Error):
                with hg.expose(bytearray(8)) as bulk:
                    await hg.pull(address, bulk, bytearray(8), size=9)

        check(self)

    def test_memory_that_is_not_contiguous_is_refused(self):
        @with_class
        async def check(self, hg):
            with self.assertRaises(BufferError):
                hg.expose(memoryview(bytearray(100))[::2])
            with self.assertRaises(TypeError):
                hg.expose("text")

        check(self)

    def test_buffer_is_locked_until_bulk_is_freed(self):
        @with_class
        async def check(self, hg):
            data = bytearray(100)
            bulk = hg.expose(data)
            with self.assertRaises(BufferError):
                data.append(1)
            bulk.free()
            bulk.free()
            data.append(1)
            self.assertEqual(len(bulk), 0)
            with self.assertRaises(ValueError):
                hg.pull(hg.address, bulk, bytearray(1))

        check(self)

    def test_close_releases_buffers(self):
        async def use():
            data = bytearray(100)
            async with talaria.Class(INFO) as hg:
                bulk = hg.expose(data)
            data.append(1)
            self.assertEqual(len(bulk), 0)

        asyncio.run(use())


class Canceling(unittest.TestCase):
    def test_cancelled_transfer_ends_when_memory_is_unused(self):
        @with_class
        async def check(self, hg, server):
            got = asyncio.get_running_loop().create_future()
            data = bytearray(64 << 20)

            @hg.handler("lend", Memory, None)
            async def lend(request):
                transfer = hg.pull(request.address, request.input.bulk, data)
                transfer.cancel()
                try:
                    await transfer
                except asyncio.CancelledError:
                    got.set_result(not transfer._operation.active)
                else:
                    got.set_result("not cancelled")

            lent = hg.register("lent to")
            await lent(server.address, hg.address.encode())
            self.assertIs(await got, True)
            data.append(1)  # nothing holds it

        with Server(PYTHON_SERVER) as server:
            check(self, server)


if __name__ == "__main__":
    main()
