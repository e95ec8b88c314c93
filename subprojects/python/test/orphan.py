# SPDX-License-Identifier: BSD-3-Clause
"""Waits for an answer until the server has died:

    orphan.py INFO ADDRESS
"""
import asyncio
import sys

import talaria
from rpcs import SumIn, SumOut


async def main(info, address):
    async with talaria.Class(info) as hg:
        target = hg.lookup(address)
        drop = hg.register("drop", SumIn, SumOut)
        await hg.register("sum", SumIn, SumOut)(target, SumIn(1, 1))
        pending = drop(target, SumIn(1, 2))
        print("waiting", flush=True)
        try:
            await pending
        except talaria.UnreachableError:
            print("unreachable")


asyncio.run(main(*sys.argv[1:]))
