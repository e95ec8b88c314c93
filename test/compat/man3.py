#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The man pages of section 3 are complete and correct:

  man3.py PAGES LIBRARY HEADERS... -- COMPILER...   checks the folder PAGES
  man3.py --self-test the same                      alters copies of it

Every exported function of the library has a page; a page has its sections and
refers to existing pages; its synopsis agrees with the headers: all synopses
together compile after the headers. groff and mandoc, if installed, print no
warnings. Exit status 0, or 1 with what failed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

SECTIONS = ['NAME', 'SYNOPSIS', 'DESCRIPTION', 'SEE ALSO']
# Pages of other sections, in tools/man.
OTHERS = {'talaria-plugins'}


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout + result.stderr, result.returncode


def plain(text):
    return text.replace('\\-', '-').replace('\\(aq', "'").replace('\\e', '\\')


def exported(library):
    text, code = run('nm', '-D', '--defined-only', library)
    names = re.findall(r' T (\w+)', text)
    assert code == 0 and len(names) > 150, text
    return names


def synopsis_of(page):
    part = re.search(r'^\.SH SYNOPSIS\n(.*?)^\.SH ', page, re.M | re.S)
    lines = [line for line in plain(part[1] if part else '').split('\n')
             if not re.match(r'\.|#|cc ', line)]
    return '\n'.join(lines)


def check_page(name, page, pages):
    if page.startswith('.so '):
        target = re.fullmatch(r'\.so man3/(.*)\.3\n', page)
        if not target or pages.get(target[1], '.so').startswith('.so'):
            yield f'{name}: refers to no page: {page}'
        return
    found = re.findall(r'^\.SH (.*)', page, re.M)
    for section in SECTIONS:
        if section not in found:
            yield f'{name}: no section {section}'
    for other, section in re.findall(r'^\.BR (\S+) \((\d)\)', page, re.M):
        other = plain(other)
        if section == '3' and other not in pages:
            yield f'{name}: refers to {other}(3), which is no page'
        elif section != '3' and not other.startswith('talaria'):
            yield f'{name}: refers to {other}({section})'


def check_synopses(pages, headers, compiler):
    """All declarations again, after the headers."""
    source = ''.join(f'#include <{name}>\n' for name in sorted(pages)
                     if name.endswith('.h'))
    source += ''.join(synopsis_of(page) + '\n' for page in pages.values()
                      if not page.startswith('.so'))
    if len(re.findall(r'^\w.*\(', source, re.M)) < 150:
        yield 'the synopses declare nearly nothing'
    with tempfile.NamedTemporaryFile('w', suffix='.c') as file:
        file.write(source)
        file.flush()
        output, code = run(*compiler, '-Werror', '-fsyntax-only',
                           *[f'-I{header}' for header in headers], file.name)
        if code:
            yield f'the synopses do not compile: {output}'


def check_formatters(folder, pages):
    paths = [os.path.join(folder, name + '.3') for name, page in
             sorted(pages.items()) if not page.startswith('.so')]
    if shutil.which('groff'):
        output, code = run('groff', '-ww', '-man', '-Tutf8', '-z', *paths)
        if code or output:
            yield f'groff: {output}'
    if shutil.which('mandoc'):
        output, _ = run('mandoc', '-Tlint', '-W', 'warning', *paths)
        lines = [line for line in output.split('\n') if line]
        if lines:
            yield 'mandoc: ' + '\n'.join(lines[:20])


def check(folder, names, headers, compiler, formatters=True):
    pages = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding='utf-8') as file:
            pages[name.removesuffix('.3')] = file.read()
    failures = [f'{name} has no page' for name in names if name not in pages]
    for name, page in sorted(pages.items()):
        failures += check_page(name, page, pages)
    failures += check_synopses(pages, headers, compiler)
    return failures + list(check_formatters(folder, pages) if formatters else ())


# A page, what is replaced in it, by what, and the complaint.
SPOILED = (
    ('HG_Forward', '', None, 'HG_Forward has no page'),
    ('HG_Forward', 'void *arg', 'int arg', 'do not compile'),
    ('HG_Forward', '.SH SYNOPSIS', '.SH USAGE', 'no section SYNOPSIS'),
    ('HG_Forward', '.BR HG_Cancel', '.BR HG_Cancle', 'refers to HG_Cancle'),
    ('talaria_mem_free', 'alloc', 'aloc', 'refers to no page'),
)


def self_test(folder, *rest):
    failures = []
    for name, old, new, complaint in SPOILED:
        with tempfile.TemporaryDirectory() as copy:
            shutil.copytree(folder, copy, dirs_exist_ok=True)
            path = os.path.join(copy, name + '.3')
            with open(path, encoding='utf-8') as file:
                text = file.read()
            assert old in text, (name, old)
            if new is None:
                os.unlink(path)
            else:
                with open(path, 'w', encoding='utf-8') as file:
                    file.write(text.replace(old, new))
            found = check(copy, *rest, formatters=False)
            if not any(complaint in line for line in found):
                failures.append(f'{name} with {new!r} passes: {found}')
    return failures


def main():
    arguments = sys.argv[1:]
    testing = arguments[:1] == ['--self-test']
    arguments = arguments[testing:]
    end = arguments.index('--')
    folder, library, *headers = arguments[:end]
    work = self_test if testing else check
    failures = work(folder, exported(library), headers, arguments[end + 1:])
    for line in failures:
        print(f'FAIL: {line}')
    print(f'man3.py: {len(failures)} failed' if failures else 'man3.py: ok')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
