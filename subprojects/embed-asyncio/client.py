#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Calls a server COUNT times at once:

    client.py INFO ADDRESS TEXT DELAY_MS COUNT

Exit status 1 if a call failed or brought another text.
"""
import asyncio
import sys

from talaria_asyncio import Context, Error


async def main(info, address, text, delay, count):
    context = Context(info)
    context.register("asyncio_later")
    calls = [
        context.call(address, "asyncio_later", f"{delay} {text}")
        for _ in range(int(count))
    ]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    await context.close()
    for answer in answers:
        if isinstance(answer, Error):
            sys.exit(": ".join(answer.args))
        if answer != text:
            sys.exit(f"unexpected answer: {answer!r}")
    print(len(answers))


if len(sys.argv) != 6:
    sys.exit("usage: client.py INFO ADDRESS TEXT DELAY_MS COUNT")
asyncio.run(main(*sys.argv[1:]))
