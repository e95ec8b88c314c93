#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An RPC server and a TCP server in one asyncio loop, on one thread.

    server.py INFO

prints its RPC address and its TCP port, and ends on SIGTERM or SIGINT.
"""
import asyncio
import signal
import sys

from talaria_asyncio import Context

DELAY_MAX = 10000


async def main(info):
    served = pending = 0
    stop = asyncio.Event()

    async def later(text):
        """"MS TEXT": answers TEXT after so many milliseconds."""
        nonlocal served, pending
        delay, _, rest = text.partition(" ")
        if int(delay) > DELAY_MAX:
            raise ValueError(f"a delay of {delay} ms exceeds {DELAY_MAX} ms")
        pending += 1
        await asyncio.sleep(int(delay) / 1000)
        pending -= 1
        served += 1
        return rest

    async def status(reader, writer):
        writer.write(f"served {served}, pending {pending}\n".encode())
        await writer.drain()
        writer.close()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    context = Context(info, listen=True)
    context.register("asyncio_later", later)
    tcp = await asyncio.start_server(status, "127.0.0.1", 0)
    print(context.address())
    print(tcp.sockets[0].getsockname()[1], flush=True)
    await stop.wait()
    tcp.close()
    await context.close()


if len(sys.argv) != 2:
    sys.exit("usage: server.py INFO")
asyncio.run(main(sys.argv[1]))
