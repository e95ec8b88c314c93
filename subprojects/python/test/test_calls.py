# SPDX-License-Identifier: BSD-3-Clause
"""Calls between processes, and how they fail."""
import asyncio
import subprocess
import sys
import time
import unittest

import talaria
from rpcs import SumIn, SumOut, Types
from support import C_CLIENT, C_SERVER, HERE, INFO, LIMIT, PYTHON_SERVER
from support import Server, main, with_class

EXTREMES = Types(
    -(2**7), -(2**15), -(2**31), -(2**63),
    2**8 - 1, 2**16 - 1, 2**32 - 1, 2**64 - 1,
    True, "grüß\udcff", None, b"\1\0\2",
)  # fmt: skip


class OverBoth(unittest.TestCase):
    """A client here, with a server in C or in Python."""

    def both(self, check):
        for command in (C_SERVER, PYTHON_SERVER):
            with self.subTest(server=str(command[-1])):
                with Server(command) as server:
                    check(server)

    def test_every_type_arrives_unchanged(self):
        @with_class
        async def check(self, hg, server):
            call = hg.register("types", Types, Types)
            answer = await call(server.address, EXTREMES)
            self.assertEqual(answer, EXTREMES)
            self.assertIs(type(answer), Types)

        self.both(lambda server: check(self, server))

    def test_bytes_of_any_size_are_echoed(self):
        @with_class
        async def check(self, hg, server):
            echo = hg.register("echo")
            for size in (1, 100, 5000, 3000000):
                data = bytearray(range(256)) * (size // 256 + 1)
                answer = await echo(server.address, memoryview(data)[:size])
                self.assertEqual(answer, data[:size])

        self.both(lambda server: check(self, server))

    def test_failed_handler_raises_its_words(self):
        @with_class
        async def check(self, hg, server):
            with self.assertRaises(talaria.HandlerError) as caught:
                await hg.register("echo")(server.address)
            self.assertEqual(caught.exception.code, 10)
            self.assertEqual(
                str(caught.exception), "nothing to echo: HG_NODEV"
            )
            with self.assertRaises(talaria.AccessError) as caught:
                await hg.register("refuse", SumIn, SumOut)(
                    server.address, SumIn(1, 2)
                )
            self.assertEqual(str(caught.exception), "refuse: HG_PERMISSION")
            self.assertIsInstance(caught.exception, PermissionError)

        self.both(lambda server: check(self, server))

    def test_unknown_rpc_raises(self):
        @with_class
        async def check(self, hg, server):
            with self.assertRaises(talaria.UnknownRpcError) as caught:
                await hg.register("unheard of")(server.address, b"")
            self.assertEqual(caught.exception.name, "HG_NOENTRY")

        self.both(lambda server: check(self, server))

    def test_thousand_concurrent_calls_are_answered(self):
        @with_class
        async def check(self, hg, server):
            call = hg.register("sum", SumIn, SumOut)
            address = hg.lookup(server.address)
            answers = await asyncio.gather(
                *(call(address, SumIn(i, i)) for i in range(1000))
            )
            self.assertEqual(answers, [SumOut(2 * i) for i in range(1000)])

        self.both(lambda server: check(self, server))

    def test_deadline_raises_timeout_error(self):
        @with_class
        async def check(self, hg, server):
            drop = hg.register("drop", SumIn, SumOut)
            with self.assertRaises(talaria.DeadlineError) as caught:
                await drop(server.address, SumIn(1, 2), timeout=0.05)
            self.assertEqual(caught.exception.code, 20)
            self.assertIsInstance(caught.exception, TimeoutError)
            with self.assertRaises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await drop(server.address, SumIn(1, 2))
            with self.assertRaises(TimeoutError):
                await asyncio.wait_for(
                    drop(server.address, SumIn(1, 2)), 0.05
                )
            self.assertEqual(await still_works(hg, server), SumOut(42))

        self.both(lambda server: check(self, server))

    def test_cancelled_task_cancels_its_call(self):
        @with_class
        async def check(self, hg, server):
            drop = hg.register("drop", SumIn, SumOut)

            async def wait():
                await drop(server.address, SumIn(1, 2))

            task = asyncio.create_task(wait())
            await asyncio.sleep(0)
            self.assertTrue(hg._busy)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            while hg._busy:  # the library's callback of the cancelled call
                await asyncio.sleep(0)
            self.assertEqual(await still_works(hg, server), SumOut(42))

        self.both(lambda server: check(self, server))

    def test_killed_server_raises_and_nothing_else(self):
        for command in (C_SERVER, PYTHON_SERVER):
            with Server(command) as server:
                client = subprocess.Popen(
                    [sys.executable, HERE / "orphan.py", INFO, server.address],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                self.assertEqual(client.stdout.readline(), "waiting\n")
                server.kill()
                output, errors = client.communicate(timeout=LIMIT)
                self.assertEqual(
                    (client.returncode, output), (0, "unreachable\n"), errors
                )
                lines = [
                    line
                    for line in errors.splitlines()
                    if " warning " not in line  # of the library, about its peer
                ]
                self.assertEqual(lines, [])


async def still_works(hg, server):
    return await hg.register("sum", SumIn, SumOut)(
        server.address, SumIn(20, 22)
    )


class OverPython(unittest.TestCase):
    def test_c_client_is_served(self):
        with Server(PYTHON_SERVER) as server:
            client = subprocess.run(
                [*C_CLIENT, INFO, server.address],
                capture_output=True,
                text=True,
                timeout=LIMIT,
            )
        self.assertEqual(
            (client.returncode, client.stdout, client.stderr), (0, "ok\n", "")
        )

    def test_two_python_processes_call_each_other(self):
        @with_class
        async def check(self, hg, server):
            @hg.handler("back")
            def back(request):
                return bytes(reversed(request.input))

            self.assertEqual(
                await hg.register("echo")(server.address, b"abc"), b"abc"
            )
            self.assertEqual(
                await hg.register("back")(hg.address, b"abc"), b"cba"
            )
            self.assertIsNone(
                await hg.register("nothing", None, None)(server.address)
            )

        with Server(PYTHON_SERVER) as server:
            check(self, server)

    def test_name_has_one_registration(self):
        @with_class
        async def check(self, hg):
            first = hg.register("twice")
            hg.handler("twice")(lambda request: b"handled")
            self.assertEqual(await first(hg.address), b"handled")
            second = hg.register("twice")
            self.assertEqual(await second(hg.address), b"handled")
            with self.assertRaises(ValueError):
                hg.register("twice", SumIn, SumOut)

        check(self)

    def test_failure_of_struct_is_made_by_the_handlers_function(self):
        @with_class
        async def check(self, hg, server):
            ret = hg.register("ret", SumIn, SumOut)
            answer = await ret(server.address, SumIn(7, 0))
            self.assertEqual(answer.sum, -7)

        with Server(PYTHON_SERVER) as server:
            check(self, server)

    def test_rpc_without_response_completes_when_sent(self):
        @with_class
        async def check(self, hg, server):
            sent = hg.register("sent", response=False)
            self.assertIsNone(await sent(server.address, b"news"))
            while await hg.register("were_sent")(server.address) != b"news":
                pass

        with Server(PYTHON_SERVER) as server:
            check(self, server)

    def test_sigterm_lets_handlers_finish(self):
        @with_class
        async def check(self, hg, server):
            later = hg.register("later")
            calls = [later(server.address, b"0.5") for _ in range(10)]
            await hg.register("echo")(server.address, b"they have arrived")
            server.terminate()
            self.assertEqual(await asyncio.gather(*calls), [b"late"] * 10)

        with Server(PYTHON_SERVER) as server:
            check(self, server)

    def test_idle_server_takes_no_processor_time(self):
        with Server(PYTHON_SERVER) as server:
            subprocess.run(
                [*C_CLIENT, INFO, server.address],
                stdout=subprocess.DEVNULL,
                timeout=LIMIT,
                check=True,
            )

            def ticks():
                with open(f"/proc/{server.process.pid}/stat") as stat:
                    fields = stat.read().rpartition(")")[2].split()
                return int(fields[11]) + int(fields[12])

            before = ticks()
            time.sleep(1)
            self.assertLessEqual(ticks() - before, 5)


class Closing(unittest.TestCase):
    def test_close_cancels_calls_in_progress(self):
        async def wait():
            async with talaria.Class(INFO, listen=True) as hg:
                call = hg.register("later")
                hg.handler("later")(lambda request: asyncio.sleep(0.05, b""))
                pending = call(hg.address, b"")
                del call
            self.assertTrue(hg.closed)
            self.assertTrue(pending.done())

        asyncio.run(wait())

    def test_cancelled_close_cancels_handlers(self):
        async def use():
            hg = talaria.Class(INFO, listen=True)
            ended = []

            @hg.handler("forever")
            async def forever(request):
                try:
                    await asyncio.Event().wait()
                finally:
                    ended.append(request.name)

            call = hg.register("forever")(hg.address)
            while not hg._tasks:
                await asyncio.sleep(0)
            with self.assertRaises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await hg.close()
            self.assertTrue(hg.closed)
            self.assertEqual(ended, ["forever"])
            with self.assertRaises(talaria.HandlerError) as caught:
                await call
            self.assertEqual(caught.exception.name, "HG_CANCELED")

        asyncio.run(use())

    def test_failed_handler_without_response_is_reported_only(self):
        @with_class
        async def check(self, hg):
            reported = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().set_exception_handler(
                lambda loop, context: reported.set_result(context["exception"])
            )

            @hg.handler("sent", response=False)
            async def sent(request):
                await asyncio.sleep(0)
                raise KeyError

            await hg.register("sent", response=False)(hg.address)
            self.assertIsInstance(await reported, KeyError)

        check(self)

    def test_closed_class_raises(self):
        async def use():
            hg = talaria.Class(INFO, listen=True)
            address, rpc = hg.lookup(hg.address), hg.register("x")
            await asyncio.gather(hg.close(), hg.close())
            with self.assertRaisesRegex(RuntimeError, "closed"):
                hg.lookup("x")
            with self.assertRaisesRegex(RuntimeError, "closed"):
                rpc(address, b"")
            self.assertEqual(str(address), "(closed)")

        asyncio.run(use())

    def test_other_thread_is_refused(self):
        @with_class
        async def use(self, hg):
            with self.assertRaisesRegex(RuntimeError, "thread"):
                await asyncio.to_thread(hg.lookup, "x")

        use(self)

    def test_class_that_does_not_open_says_why(self):
        async def use():
            with self.assertRaises(talaria.Error) as caught:
                talaria.Class("na+nothing")
            self.assertIn("na+nothing", str(caught.exception))

        asyncio.run(use())


class Options(unittest.TestCase):
    def use(self, check, **options):
        async def main():
            async with talaria.Class(INFO, listen=True, **options) as hg:
                hg.handler("same")(lambda request: request.input)
                await check(hg, hg.register("same"))

        asyncio.run(main())

    def test_settings_are_the_librarys(self):
        async def check(hg, same):
            async with talaria.Class(INFO) as other:
                same = other.register("same")
                self.assertEqual(await same(hg.address, b"x"), b"x")
                with self.assertRaises(talaria.MessageError) as caught:
                    await same(hg.address, bytes(2 << 20))
                self.assertEqual(caught.exception.name, "HG_MSGSIZE")

        self.use(check, settings={"hg.overflow_max": "1M"})
        with self.assertRaises(talaria.Error) as caught:
            self.use(check, settings={"hg.overflow_maximum": "1M"})
        self.assertEqual(caught.exception.name, "HG_INVALID_ARG")

    def test_stats_count_calls(self):
        async def check(hg, same):
            for _ in range(3):
                await same(hg.address, b"x")
            rpcs = {rpc["name"]: rpc for rpc in hg.stats()["rpcs"]}
            self.assertEqual(rpcs["same"]["origin"]["requests"], 3)

        self.use(check, stats=True)

        async def without(hg, same):
            with self.assertRaises(talaria.Error):
                hg.stats()

        self.use(without)

    @unittest.skipUnless(INFO == "na+sm", "a feature of na+sm")
    def test_keys_must_match(self):
        async def check(hg, same):
            for key, error in (("a key", None), ("other", talaria.Error)):
                async with talaria.Class(INFO, auth_key=key) as peer:
                    call = peer.register("same")(hg.address, b"x", timeout=5)
                    if error:
                        with self.assertRaises(error):
                            await call
                    else:
                        self.assertEqual(await call, b"x")

        self.use(check, auth_key="a key")


if __name__ == "__main__":
    main()
