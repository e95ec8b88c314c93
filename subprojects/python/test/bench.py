#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures calls and transfers against the same programs in C, in turns:

    bench.py [ROUNDS]

Environment as for the tests. Prints the median, least and greatest time of a
round trip by client and server, and the rates at which a server pulls 16 MiB.
Exit status 1 if Python's round trip takes more than 25 times C's, or if its
transfers are slower than three quarters of C's rate.
"""
import asyncio
import statistics
import subprocess
import sys
import time

import talaria
from rpcs import Memory, Moved, SumIn, SumOut
from support import C_CLIENT, C_SERVER, HERE, INFO, LIMIT, Server

CALLS = 5000
C_CALLS = 20000
PULLS = 20
SIZE = 16 << 20
PYTHON_SERVER = [sys.executable, HERE / "server.py"]


def from_c(address, *arguments):
    ran = subprocess.run(
        [*C_CLIENT, INFO, address, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
    )
    return float(ran.stdout)


async def sums(address):
    async with talaria.Class(INFO) as hg:
        call = hg.register("sum", SumIn, SumOut)
        target = hg.lookup(address)
        begin = time.perf_counter()
        for _ in range(CALLS):
            await call(target, SumIn(20, 22))
        return (time.perf_counter() - begin) / CALLS * 1e9


async def pulls(address):
    async with talaria.Class(INFO) as hg:
        call = hg.register("ends", Memory, Moved)
        target = hg.lookup(address)
        with hg.expose(bytearray(SIZE)) as bulk:
            begin = time.perf_counter()
            for _ in range(PULLS):
                await call(target, Memory(bulk, 0))
            return (time.perf_counter() - begin) / PULLS * 1e9


def main(rounds):
    calls, transfers = {}, {}
    with Server(C_SERVER) as c, Server(PYTHON_SERVER) as python:
        for _ in range(rounds):
            for name, server in (("C", c), ("Python", python)):
                address = server.address
                for client, call, transfer in (
                    (
                        "C",
                        from_c(address, "sum", C_CALLS),
                        from_c(address, "ends", PULLS, SIZE),
                    ),
                    (
                        "Python",
                        asyncio.run(sums(address)),
                        asyncio.run(pulls(address)),
                    ),
                ):
                    pair = f"{client} client, {name} server"
                    calls.setdefault(pair, []).append(call / 1000)
                    transfers.setdefault(pair, []).append(SIZE / transfer)
    show("round trip, us", calls)
    show("pulled, GB/s", transfers)
    base = statistics.median(calls["C client, C server"])
    slowest = max(statistics.median(times) for times in calls.values())
    rate = statistics.median(transfers["C client, C server"])
    least = min(statistics.median(rates) for rates in transfers.values())
    print(f"round trips: {slowest / base:.1f} times C's; ", end="")
    print(f"transfers: {least / rate:.2f} of C's rate")
    return slowest > 25 * base or least < 0.75 * rate


def show(what, figures):
    for pair, values in figures.items():
        print(
            f"{what}: {pair:28} {statistics.median(values):8.2f} "
            f"({min(values):.2f} to {max(values):.2f})"
        )


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
