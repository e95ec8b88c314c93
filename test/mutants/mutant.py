# SPDX-License-Identifier: BSD-3-Clause
"""A mutant: lines `key: value`, an empty one, and a unified diff.

    what     the fault, in one sentence
    test     the tests, by their names in Meson, each of which has to fail;
             separated by |
    case     a pattern for TALARIA_TEST_CASE, if a part of a test is enough
    build    gcc, asan (also undefined behaviour) or tsan; default: gcc
    expect   caught (default) or survives
    why      of one that survives: why no test can detect it, or not on this machine
    times    how often the test may pass before the mutant counts as surviving,
             where chance decides; default: 1
"""

import glob
import os
import re

from results import digest_of_file

BUILDS = ('gcc', 'asan', 'tsan')
KEYS = {'what', 'test', 'case', 'build', 'expect', 'why', 'times'}


class BadHead(Exception):
    """The head of a mutant is invalid."""


class DoesNotApply(Exception):
    """Sources have changed."""


class Hunk:
    """Lines that follow one another, before and after."""

    def __init__(self, line):
        self.line = line
        self.old, self.new = [], []

    def add(self, text):
        mark, rest = text[:1], text[1:]
        if mark in ' -' or text == '':
            self.old.append(rest)
        if mark in ' +' or text == '':
            self.new.append(rest)

    def apply(self, lines):
        """Replaces the old lines at their place nearest to the line number."""
        places = [at for at in range(len(lines) - len(self.old) + 1)
                  if lines[at:at + len(self.old)] == self.old]
        if not places or not self.old:
            raise DoesNotApply
        at = min(places, key=lambda place: abs(place - self.line))
        return lines[:at] + self.new + lines[at + len(self.old):]


def read_diff(lines):
    """Hunks by file."""
    files, hunks = {}, None
    for text in lines:
        begun = re.match(r'@@ -(\d+)', text)
        if text.startswith('--- '):
            continue
        if text.startswith('+++ '):
            path = text[4:].split('\t')[0].strip()
            hunks = files.setdefault(path.split('/', 1)[1], [])
        elif begun and hunks is not None:
            hunks.append(Hunk(int(begun[1]) - 1))
        elif hunks and (text[:1] in ('', ' ', '-', '+')):
            hunks[-1].add(text)
    return files


class Mutant:
    """One patch of the folder."""

    def __init__(self, path, name):
        self.name = name
        self.digest = digest_of_file(path)
        with open(path, encoding='utf-8') as file:
            head, _, diff = file.read().partition('\n\n')
        values = {}
        for line in head.split('\n'):
            key, colon, value = line.partition(': ')
            if not colon or key not in KEYS or key in values:
                raise BadHead(f'{name}: its head has the line "{line}"')
            values[key] = value.strip()
        self.what = values.get('what', '')
        self.tests = [test.strip()
                      for test in values.get('test', '').split('|')]
        self.case = values.get('case')
        self.build = values.get('build', 'gcc')
        self.expect = values.get('expect', 'caught')
        self.why = values.get('why', '')
        self.times = int(values.get('times', '1'))
        self.files = read_diff(diff.rstrip('\n').split('\n'))
        self.before = {}
        if not self.what or not all(self.tests):
            raise BadHead(f'{name}: its head has no what or no test')
        if self.build not in BUILDS:
            raise BadHead(f'{name}: no build {self.build}')
        if self.expect not in ('caught', 'survives') or \
                (self.expect == 'survives') != bool(self.why):
            raise BadHead(f'{name}: expect is caught, or survives with a why')

    def changed(self, root):
        """Returns the changed contents of its files."""
        after = {}
        for path, hunks in self.files.items():
            try:
                with open(os.path.join(root, path), encoding='utf-8') as file:
                    text = file.read()
            except OSError:
                raise DoesNotApply from None
            lines = text.split('\n')
            for hunk in hunks:
                lines = hunk.apply(lines)
            after[path] = text, '\n'.join(lines)
        return after

    def apply(self, root):
        after = self.changed(root)
        for path, (old, new) in after.items():
            self.before[path] = old
            write(os.path.join(root, path), new)

    def unapply(self, root):
        """Sets a new modification time, so that dependents are built again."""
        while self.before:
            path, old = self.before.popitem()
            write(os.path.join(root, path), old)


def write(path, text):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def read_all(folder):
    """Those below a folder, in order."""
    return [Mutant(path, os.path.relpath(path, folder)[:-len('.patch')])
            for path in sorted(glob.glob(
                os.path.join(folder, '**', '*.patch'), recursive=True))]
