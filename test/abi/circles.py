#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Cyclic dependencies of source files: they include, or call, one another.

  circles.py FOLDER KNOWN [ARCHIVE]   checks a folder
  circles.py --draw FOLDER [ARCHIVE]  prints the edges of each circle
  circles.py --self-test              checks the check

A file is NAME.c and NAME.h together. It depends on another by an #include, and,
if ARCHIVE is given (a static library with the objects of FOLDER), by a symbol
that its object needs and the other's defines. A circle is a strongly connected
component of either graph.

KNOWN lists the existing circles, one a line: "includes:" or "calls:" and the
files. The check fails for a file that joins a circle, for a new circle, and for
a listed one that does not exist any more: the list only gets shorter. Exit
status 0, or 1 with what failed.
"""
import os
import re
import subprocess
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
SYMBOL = re.compile(r'[:/]([^:/\s]+)\.c\.o:\s*(?:[0-9a-f]+)?\s+([A-Za-z]) (\S+)$')


def includes(folder):
    """File to the set of those it includes, by their names in the folder."""
    sources = set()
    for path, _, names in os.walk(folder):
        for name in names:
            if name.endswith(('.c', '.h')):
                sources.add(os.path.relpath(os.path.join(path, name), folder))
    graph = {}
    for source in sources:
        stem = source[:-2]
        found = graph.setdefault(stem, set())
        with open(os.path.join(folder, source), encoding='utf-8') as file:
            text = file.read()
        for name in INCLUDE.findall(text):
            beside = os.path.normpath(
                os.path.join(os.path.dirname(source), name))
            # by the name of the folder too, as others include it
            inside = name.removeprefix(os.path.basename(folder) + '/')
            for other in (beside, name, inside):
                if other in sources:
                    if other[:-2] != stem:
                        found.add(other[:-2])
                    break
    return graph


def calls(folder, archive):
    """The same by symbols; an object is named after its file's path."""
    names = {stem.replace('/', '_'): stem for stem in includes(folder)}
    output = subprocess.run(['nm', '-A', archive], check=True, text=True,
                            stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL).stdout
    defined, needed = {}, {}
    for line in output.splitlines():
        match = SYMBOL.search(line)
        if not match or match[1] not in names:
            continue
        stem, kind, symbol = names[match[1]], match[2], match[3]
        if kind == 'U':
            needed.setdefault(stem, set()).add(symbol)
        elif kind.isupper():
            defined[symbol] = stem
    if not defined:
        raise SystemExit(f'{archive}: no object of {folder}')
    return {stem: {defined[symbol] for symbol in symbols
                   if defined.get(symbol, stem) != stem}
            for stem, symbols in needed.items()}


def circles(graph):
    """Strongly connected components of more than one file (Tarjan)."""
    order, low, stack, found = {}, {}, [], []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(frozenset(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def graphs_of(folder, archive):
    graphs = {'includes': includes(folder)}
    if archive:
        graphs['calls'] = calls(folder, archive)
    return graphs


def read_known(path):
    known = {'includes': [], 'calls': []}
    with open(path, encoding='utf-8') as file:
        for line in file:
            line = line.split('#')[0].strip()
            if line:
                kind, files = line.split(':')
                known[kind].append(frozenset(files.split()))
    return known


def words(files):
    return ' '.join(sorted(files))


def check(folder, known, archive):
    """What is wrong, one text each."""
    wrong = []
    for kind, graph in graphs_of(folder, archive).items():
        found = circles(graph)
        for circle in found:
            if not any(circle <= other for other in known[kind]):
                wrong.append(f'a new circle by {kind}: {words(circle)}')
        for other in known[kind]:
            if other not in found:
                wrong.append(f'no such circle by {kind} any more, shorten '
                             f'the list: {words(other)}')
    return wrong


def draw(folder, archive):
    for kind, graph in graphs_of(folder, archive).items():
        for circle in circles(graph):
            print(f'{kind}: {words(circle)}')
            for node in sorted(circle):
                print(f'    {node} -> {words(graph[node] & circle)}')


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            with open(os.path.join(folder, name), 'w',
                      encoding='utf-8') as file:
                file.write(text)

        def object_of(name):
            subprocess.run(['cc', '-c', f'{name}.c', '-o', f'{name}.c.o'],
                           cwd=folder, check=True)

        write('a.h', '#include "b.h"\nvoid a(void);\n')
        write('b.h', 'void b(void);\n')
        write('a.c', '#include "a.h"\nvoid a(void) { b(); }\n')
        write('b.c', '#include "b.h"\nvoid b(void) { }\n')
        archive = os.path.join(folder, 'lib.a')
        none = {'includes': [], 'calls': []}
        both = [frozenset('ab')]

        def wrong(known):
            for name in 'ab':
                object_of(name)
            subprocess.run(['ar', 'rc', archive, 'a.c.o', 'b.c.o'],
                           cwd=folder, check=True)
            return len(check(folder, known, archive))

        assert wrong(none) == 0
        assert wrong({'includes': both, 'calls': []}) == 1
        write('b.c', '#include "b.h"\n#include "a.h"\nvoid b(void) { }\n')
        assert wrong(none) == 1
        assert wrong({'includes': both, 'calls': []}) == 0
        write('b.c', '#include "b.h"\nvoid a(void);\nvoid b(void) { a(); }\n')
        assert wrong(none) == 1
        assert wrong({'includes': [], 'calls': both}) == 0


def main(arguments):
    if arguments == ['--self-test']:
        self_test()
        return 0
    if len(arguments) in (2, 3) and arguments[0] == '--draw':
        draw(arguments[1], (arguments[2:] or [None])[0])
        return 0
    if len(arguments) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 1
    folder, known = arguments[:2]
    wrong = check(folder, read_known(known), (arguments[2:] or [None])[0])
    for text in wrong:
        print(f'FAIL: {text}')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
