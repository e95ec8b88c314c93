# SPDX-License-Identifier: BSD-3-Clause
"""What may be sent, and what is refused."""
import asyncio
import unittest
from typing import Annotated, NamedTuple, Optional

import talaria
from rpcs import SumIn, SumOut
from support import INFO, main, with_class


class Floats(NamedTuple):
    single: talaria.Float32
    double: talaria.Float64


class Plain(NamedTuple):
    text: str
    maybe: Optional[str]
    data: bytes
    truth: bool
    memory: Optional[talaria.Bulk]


class Longer(NamedTuple):
    a: talaria.Int32
    b: talaria.Int64


class Blob(NamedTuple):
    data: bytes


class Text(NamedTuple):
    text: talaria.String


class Length(NamedTuple):
    length: talaria.UInt64


class Messages(unittest.TestCase):
    def echo_of(self, message):
        @with_class
        async def check(self, hg):
            hg.handler("same", message, message)(lambda request: request.input)
            call = hg.register("same", message, message)
            self.echo = lambda value: call(hg.address, value)
            await self.use()

        return check

    def test_floats_keep_their_precision(self):
        async def use():
            sent = Floats(0.5, 0.1)
            self.assertEqual(await self.echo(sent), sent)
            with self.assertRaises(OverflowError):
                self.echo(Floats(1e300, 0))

        self.use = use
        self.echo_of(Floats)(self)

    def test_plain_types_and_none(self):
        async def use():
            for sent in (
                Plain("", None, b"", False, None),
                Plain("a", "b", b"c", True, None),
            ):
                self.assertEqual(await self.echo(sent), sent)
            for wrong, error in (
                (Plain(None, None, b"", False, None), TypeError),
                (Plain("a\0b", None, b"", False, None), ValueError),
                (Plain("a", None, "c", False, None), TypeError),
                (Plain("a", None, b"", False, b"memory"), TypeError),
                (("a",), TypeError),
                (None, TypeError),
                (7, TypeError),
            ):
                with self.subTest(wrong=wrong), self.assertRaises(error):
                    self.echo(wrong)

        self.use = use
        self.echo_of(Plain)(self)

    def test_integers_are_checked(self):
        async def use():
            for wrong, error in (
                (SumIn(2**31, 0), OverflowError),
                (SumIn(-(2**31) - 1, 0), OverflowError),
                (SumIn(2**100, 0), OverflowError),
                (SumIn("1", 0), TypeError),
                (SumIn(1.5, 0), TypeError),
            ):
                with self.subTest(wrong=wrong), self.assertRaises(error):
                    self.echo(wrong)
            self.assertEqual(await self.echo((1, 2)), SumIn(1, 2))

        self.use = use
        self.echo_of(SumIn)(self)

    def test_class_without_proc_is_refused(self):
        class Unknown(NamedTuple):
            field: complex

        class Ambiguous(NamedTuple):
            field: int

        class Other(NamedTuple):
            field: Annotated[int, "not ours"]

        @with_class
        async def check(self, hg):
            for wrong in (Unknown, Ambiguous, Other, tuple, int, SumIn(1, 2)):
                with self.subTest(wrong=wrong), self.assertRaises(TypeError):
                    hg.register("wrong", wrong, None)

        check(self)

    def test_malformed_message_raises_at_both_ends(self):
        """Two classes that disagree on the messages of one name."""

        @with_class
        async def check(self, hg):
            async with talaria.Class(INFO) as other:
                handled = []
                hg.handler("long", Longer, SumOut)(handled.append)
                with self.assertRaises(talaria.MessageError):
                    await other.register("long", SumIn, SumOut)(
                        hg.address, SumIn(1, 2)
                    )
                hg.handler("short", None, SumOut)(lambda request: SumOut(1))
                with self.assertRaises(talaria.MessageError):
                    await other.register("short", None, Longer)(hg.address)
                hg.handler("claim", Blob, SumOut)(handled.append)
                for length in (1, 2**40, 2**63, 2**64 - 1):
                    with self.assertRaises(talaria.MessageError):
                        await other.register("claim", Length, SumOut)(
                            hg.address, Length(length)
                        )
                hg.handler("text", Text, SumOut)(handled.append)
                with self.assertRaises(talaria.MessageError):
                    await other.register("text", Length, SumOut)(
                        hg.address, Length(2**64 - 1)
                    )
                self.assertEqual(handled, [])

        check(self)

    def test_wrong_result_of_handler_is_a_failure(self):
        @with_class
        async def check(self, hg):
            reported = []
            asyncio.get_running_loop().set_exception_handler(
                lambda loop, context: reported.append(context)
            )
            hg.handler("sum", SumIn, SumOut)(lambda request: "no sum")
            with self.assertRaises(talaria.Error) as caught:
                await hg.register("sum", SumIn, SumOut)(
                    hg.address, SumIn(1, 2)
                )
            self.assertEqual(caught.exception.name, "HG_INVALID_ARG")

            @hg.handler("raises")
            async def raises(request):
                raise KeyError("what is missing")

            with self.assertRaises(talaria.HandlerError) as caught:
                await hg.register("raises")(hg.address)
            self.assertEqual(caught.exception.words, "'what is missing'")
            self.assertEqual(len(reported), 2)
            self.assertIsInstance(reported[1]["exception"], KeyError)

        check(self)

    def test_late_failure_of_struct_drops_the_request(self):
        @with_class
        async def check(self, hg):
            @hg.handler("sum", SumIn, SumOut)
            async def late(request):
                await asyncio.sleep(0)
                raise talaria.Error(talaria.ReturnCode.HG_NODEV)

            with self.assertRaises(talaria.DeadlineError):
                await hg.register("sum", SumIn, SumOut)(
                    hg.address, SumIn(1, 2), timeout=0.05
                )

        check(self)

    def test_request_is_answered_once(self):
        @with_class
        async def check(self, hg):
            errors = []

            @hg.handler("twice")
            def twice(request):
                request.respond(b"first")
                for again in (
                    lambda: request.respond(b"second"),
                    request.drop,
                    lambda: request.address,
                ):
                    try:
                        again()
                    except RuntimeError as error:
                        errors.append(error)

            self.assertEqual(
                await hg.register("twice")(hg.address), b"first"
            )
            self.assertEqual(len(errors), 3)

        check(self)

    def test_timeouts_are_checked(self):
        @with_class
        async def check(self, hg):
            call = hg.register("none")
            for wrong in (-1, float("nan"), 1e10):
                with self.assertRaises(ValueError):
                    call(hg.address, b"", timeout=wrong)
            with self.assertRaises(TypeError):
                call(hg.address, b"", timeout="1")
            with self.assertRaises(TypeError):
                call(7, b"")
            with self.assertRaises(talaria.Error):
                await call("no address", b"")

        check(self)


if __name__ == "__main__":
    main()
