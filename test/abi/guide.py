#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The samples of "A transport in an afternoon" in abi/README.md are the template's:

    guide.py README TEMPLATE INCLUDE INCLUDE COMPILER...
    guide.py --self-test README TEMPLATE

Each sample names its file in the first line, and that file contains it literally.
Each file of the template compiles without a warning. The files, functions and
members that the guide names in backquotes exist. Exit status 0, or 1 with what
failed.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

SECTION = re.compile(r"^## A transport in an afternoon\n(.*?)^## ", re.M | re.S)
SAMPLE = re.compile(r"^```c\n(.*?)^```$", re.M | re.S)
FIRST = re.compile(r"/\* (\w+\.[ch]) \*/\n")


def guide(readme):
    found = SECTION.search(readme.read_text())
    return found.group(1) if found else ""


def check_samples(readme, template):
    failures = []
    samples = SAMPLE.findall(guide(readme))
    if len(samples) < 8:
        failures.append(f"{len(samples)} samples in {readme}")
    for sample in samples:
        first = FIRST.match(sample)
        if not first:
            failures.append(f"a sample without a file name:\n{sample}")
            continue
        file = template / first.group(1)
        text = file.read_text() if file.exists() else ""
        if "\n" + sample[first.end():] not in text:
            failures.append(f"not in {file.name}:\n{sample[first.end():]}")
    return failures


def check_names(readme, template, header):
    """Words in backquotes that look like names of code."""
    words = set(re.findall(r"`(tp_\w+|NA_PLUGIN_\w+|\w+\.[ch])`", guide(readme)))
    known = "".join(path.read_text() for path in header)
    files = {path.name for path in template.iterdir()} | {"na_plugin.h"}
    if len(words) < 5:
        return [f"the guide names {len(words)} things"]
    return [f"{word} does not exist" for word in sorted(words)
            if word not in files and not re.search(rf"\b{word}\b", known)]


def check_compiles(template, compiler, includes):
    failures = []
    for source in sorted(template.glob("*.c")):
        done = subprocess.run(
            [*compiler, "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra",
             "-Wno-unused-parameter", "-Werror", "-fsyntax-only", source]
            + ["-I" + include for include in includes],
            stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            failures.append(done.stderr)
    return failures


def self_test(readme, template):
    """Spoiled copies have to be refused."""
    text = readme.read_text()
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "README.md"
        spoiled = {
            "another number": text.replace("packet->sent += (uint32_t) n", "packet->sent += n"),
            "another file": text.replace("/* address.c */", "/* conn.c */"),
            "no file": text.replace("/* address.c */\n", ""),
            "no samples": text.replace("```c\n", "```\n"),
        }
        failures = []
        for name, spoilt in spoiled.items():
            copy.write_text(spoilt)
            if spoilt == text or not check_samples(copy, template):
                failures.append(f"self-test: {name} is not noticed")
        copy.write_text(text.replace("`tp_open_check`", "`tp_open_chec`"))
        if not check_names(copy, template, headers(readme)):
            failures.append("self-test: a wrong name is not noticed")
        return failures


def headers(readme):
    root = readme.parent.parent
    return [readme.parent / "na_plugin.h", *(root / "plugins/common").glob("*.h")]


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "--self-test":
        failures = self_test(*map(pathlib.Path, arguments[1:]))
    elif len(arguments) >= 5:
        readme, template = map(pathlib.Path, arguments[:2])
        failures = (check_samples(readme, template)
                    + check_names(readme, template, headers(readme))
                    + check_compiles(template, arguments[4:], arguments[2:4]))
    else:
        sys.exit("usage: guide.py README TEMPLATE INCLUDE INCLUDE COMPILER...")
    for failure in failures:
        print("FAIL", failure)
    if not failures:
        print("guide.py: ok")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
