# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share. TALARIA_TEST_INFO is the info string to use,
TALARIA_TEST_PROGRAMS the folder with the programs of C."""
import asyncio
import functools
import os
import pathlib
import subprocess
import sys
import unittest

import talaria

INFO = os.environ.get("TALARIA_TEST_INFO", "na+sm")
PROGRAMS = pathlib.Path(os.environ["TALARIA_TEST_PROGRAMS"])
HERE = pathlib.Path(__file__).parent
LIMIT = 120  # seconds for what should end by itself

C_SERVER = [PROGRAMS / "python-test-server"]
C_CLIENT = [PROGRAMS / "python-test-client"]
PYTHON_SERVER = [sys.executable, "-W", "default", HERE / "server.py"]


class Server:
    """A server process, in a `with`. It has to exit with 0 on SIGTERM, without
    errors on stderr, unless it was killed."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            [*command, INFO],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.address = self.process.stdout.readline().strip()
        self.killed = self.stopped = False

    def terminate(self):
        self.stopped = True
        self.process.terminate()

    def kill(self):
        self.killed = True
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if not self.stopped:
            self.terminate()
        try:
            _, errors = self.process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        if not self.killed and exception == (None, None, None):
            assert (self.process.returncode, errors) == (0, ""), (
                self.process.returncode,
                errors,
            )


def with_class(test):
    """An async test whose second argument is an open class."""

    @functools.wraps(test)
    def run(self, *rest):
        async def main():
            async with talaria.Class(INFO, listen=True) as hg:
                async with asyncio.timeout(LIMIT):
                    await test(self, hg, *rest)

        asyncio.run(main())

    return run


def main():
    unittest.main(verbosity=2)
