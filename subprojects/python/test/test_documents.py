# SPDX-License-Identifier: BSD-3-Clause
"""README's samples run, and the type hints name what there is."""
import ast
import inspect
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import talaria
import talaria._talaria
import talaria.service
from support import HERE, LIMIT, main

README = (HERE.parent / "README.md").read_text()


def sample(name):
    found = re.search(
        rf"```python\n(# {re.escape(name)}\n.*?)```", README, re.DOTALL
    )
    return found.group(1)


def block_after(text):
    return re.search(
        rf"{re.escape(text)}.*?```\n(.*?)```", README, re.DOTALL
    ).group(1)


class Readme(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_sample(self, name, *arguments):
        (self.folder / name).write_text(sample(name))
        ran = subprocess.run(
            [sys.executable, self.folder / name, *arguments],
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout

    def test_server_and_client(self):
        for name in ("sums.py", "server.py"):
            (self.folder / name).write_text(sample(name))
        with subprocess.Popen(
            [sys.executable, self.folder / "server.py"],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                address = process.stdout.readline().strip()
                output = self.run_sample("client.py", address)
            finally:
                process.terminate()
        self.assertEqual(output, block_after("The client prints"))

    def test_transfer(self):
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("no NumPy")
        self.assertIn(
            f"prints `{self.run_sample('transfer.py').strip()}`", README
        )


class Hints(unittest.TestCase):
    def test_package_says_it_has_hints(self):
        folder = pathlib.Path(talaria.__file__).parent
        self.assertTrue((folder / "py.typed").exists())

    def test_stubs_match_the_modules(self):
        folder = pathlib.Path(talaria.__file__).parent
        for module in (talaria._talaria, talaria.service):
            name = module.__name__.rpartition(".")[2]
            stub = ast.parse((folder / f"{name}.pyi").read_text())
            for node in stub.body:
                if isinstance(node, ast.ClassDef):
                    self.compare(node, getattr(module, node.name))
                elif isinstance(node, ast.FunctionDef):
                    self.assertTrue(hasattr(module, node.name), node.name)

    def compare(self, node, there):
        names = {
            item.name: item
            for item in node.body
            if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))
        }
        for name, item in names.items():
            where = f"{node.name}.{name}"
            if name == "__buffer__" and sys.version_info < (3, 12):
                continue  # of the C interface alone
            self.assertTrue(hasattr(there, name), where)
            function = getattr(there, name)
            self.assertEqual(
                isinstance(item, ast.AsyncFunctionDef),
                inspect.iscoroutinefunction(function),
                where,
            )
            if not inspect.isfunction(function) or item.args.vararg:
                continue
            actual = inspect.signature(function).parameters
            if any(p.kind is p.VAR_KEYWORD for p in actual.values()):
                continue
            if any(p.kind is p.VAR_POSITIONAL for p in actual.values()):
                continue
            hinted = [a.arg for a in item.args.args + item.args.kwonlyargs]
            self.assertLessEqual(set(hinted), set(actual), where)
        public = {
            name
            for name, value in vars(there).items()
            if not name.startswith("_") and callable(value)
        }
        public -= {"cancel"}  # asyncio.Future's
        self.assertLessEqual(public, set(names) | set(dir(int)), node.name)

    def test_return_codes_are_the_librarys(self):
        self.assertEqual(
            [code.name for code in talaria.ReturnCode],
            talaria._talaria.return_codes(),
        )

    def test_every_public_name_is_documented(self):
        numbered = re.compile(r"^U?Int\d+$")
        for name in talaria.__all__:
            if not numbered.match(name) and name != "library_version":
                self.assertIn(f"`{name}", README.replace("talaria.", ""))


if __name__ == "__main__":
    main()
