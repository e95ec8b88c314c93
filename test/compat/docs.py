#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The links and names in the documents are valid:

  docs.py SOURCE_ROOT [BUILD_DIR]   checks every page of the tree
  docs.py --self-test SOURCE_ROOT   alters copies, each of which must be refused

Links and their headings; the headings that a newcomer needs, at most two clicks
from README.md; files, cases of tests, scripts, subcommands and options of the
build in backticks or in blocks of commands; and, with a build, the names of tests
and suites. Exit status 0, or 1 with what failed.
"""

import fnmatch
import json
import os
import re
import shutil
import sys
import tempfile

# Headings, and the page each is on.
WANTED = {'Build': 'CONTRIBUTING.md', 'Run one case': 'CONTRIBUTING.md',
          'Add a test': 'CONTRIBUTING.md', 'Add a setting': 'CONTRIBUTING.md',
          'Write a plugin': 'CONTRIBUTING.md',
          'Report a vulnerability': 'SECURITY.md'}
CLICKS = 2
# Pages whose names may not exist any more.
PAST = {'CHANGELOG.md'}
# migration.sh checks its table of missing headers.
MISSING = {'docs/migration.md'}
# Pages in which code in quotation marks is part of a log line.
QUOTING = {'docs/troubleshooting.md'}
BUILTIN = {'werror', 'b_sanitize', 'b_coverage', 'b_lundef', 'c_args',
           'optimization', 'buildtype', 'prefix', 'libdir'}
# Where a name in backticks may begin.
BASES = ('', 'core', 'test', 'core/include', 'tools', 'plugins')
PATH = re.compile(r'^(?:\.\./)*[\w.+-]+(?:/[\w.*+{},-]+)+/?$')


def read(root, page):
    with open(os.path.join(root, page), encoding='utf-8') as file:
        return file.read()


def pages_of(root):
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders
                      if name not in ('.git', 'build', 'packagecache')]
        found += [os.path.relpath(os.path.join(folder, name), root)
                  for name in files if name.endswith('.md')]
    return sorted(found)


def blocks_of(text):
    """The text without its fenced blocks, and the lines of those of commands."""
    plain, commands, language = [], [], None
    for line in text.split('\n'):
        fence = re.match(r'^ *```(\w*)', line)
        if fence:
            language = fence[1] if language is None else None
        elif language is None:
            plain.append(line)
        elif language in ('', 'sh'):
            commands.append(line)
    return '\n'.join(plain), commands


def headings_of(text):
    return re.findall(r'^#+ +(.*?) *$', blocks_of(text)[0], re.M)


def slug(heading):
    plain = re.sub(r'[`*]|\[|\]\([^)]*\)', '', heading).lower()
    return re.sub(r'[^\w -]', '', plain).replace(' ', '-')


class Check:
    def __init__(self, root, build, before=None):
        self.root = root
        self.failures = []
        self.literals = None
        self.pages = pages_of(root)
        self.cases = before.cases if before else self.find_cases()
        self.files = {name for _, _, files in os.walk(root) for name in files}
        self.options = set(re.findall(
            r"^option\('(\w+)'", read(root, 'meson_options.txt'), re.M))
        self.tests = self.suites = None
        if build:
            with open(os.path.join(build, 'meson-info/intro-tests.json'),
                      encoding='utf-8') as file:
                tests = json.load(file)
            self.tests = {test['name'] for test in tests}
            self.suites = {suite.split(':')[-1] for test in tests
                           for suite in test['suite']} | {'fuzz'}

    def fail(self, page, words):
        self.failures.append(f'{page}: {words}')

    def find_cases(self):
        cases = {}
        for folder, _, files in os.walk(os.path.join(self.root, 'test')):
            for name in files:
                if name.endswith('.c'):
                    path = os.path.join(folder, name)
                    with open(path, encoding='utf-8') as file:
                        for case in re.findall(r'^START_TEST\((\w+)\)',
                                               file.read(), re.M):
                            cases.setdefault(case, set()).add(
                                os.path.relpath(path, self.root))
        return cases

    def exists(self, page, path):
        """Whether a path exists; None: it is not one of the source tree."""
        bases = BASES + (os.path.dirname(page),)
        first = path.split('/')[0]
        ours = [base for base in bases
                if os.path.isdir(os.path.join(self.root, base, first))]
        if not ours or first in ('build', 'talaria'):
            return None
        parents = {os.path.dirname(os.path.normpath(os.path.join(base, path)))
                   for base in ours}
        name = os.path.basename(path.rstrip('/'))
        for parent in parents:
            folder = os.path.join(self.root, parent)
            names = os.listdir(folder) if os.path.isdir(folder) else []
            # Sources may be named without their ending, templates with it cut.
            wanted = (name, name + '.[ch]', name + '.in', name + '.sh')
            if any(fnmatch.fnmatch(there, pattern)
                   for there in names for pattern in wanted):
                return True
        return False

    def check_link(self, page, target):
        if re.match(r'^[a-z]+:', target):
            return None
        path, _, anchor = target.partition('#')
        there = os.path.normpath(os.path.join(os.path.dirname(page), path)) \
            if path else page
        full = os.path.join(self.root, there)
        if not os.path.exists(full):
            self.fail(page, f'there is no {target}')
            return None
        if anchor and anchor not in map(slug, headings_of(read(self.root, there))):
            self.fail(page, f'there is no heading #{anchor} in {there}')
        if os.path.isdir(full):
            there = os.path.join(there, 'README.md')
        return there if there in self.pages else None

    def check_name(self, page, name):
        path, _, case = name.partition(':')
        if re.match(r'^-D\w+=', name):
            self.check_options(page, name)
        elif name.startswith('talaria '):
            self.check_talaria(page, name)
        elif page in QUOTING and re.fullmatch(r'"[^"]+"', name):
            self.check_quote(page, name.strip('"'))
        elif re.fullmatch(r'\w+\.(?:[ch]|py|sh)', name):
            if name not in self.files and page not in MISSING:
                self.fail(page, f'there is no file {name}')
        elif PATH.match(path) and self.exists(page, path) is False:
            self.fail(page, f'there is no {path}')
        elif re.fullmatch(r'[a-z]\w+', case) and path.endswith('.c') and \
                not any(where.endswith('/' + path)
                        for where in self.cases.get(case, ())):
            self.fail(page, f'there is no case {name}')

    def own_options(self, page):
        """Those of the subproject that contains a page."""
        there = os.path.join(os.path.dirname(page), 'meson_options.txt')
        if not os.path.exists(os.path.join(self.root, there)):
            return set()
        return set(re.findall(
            r"^option\('(\w+)'", read(self.root, there), re.M))

    def check_options(self, page, text):
        known = self.options | BUILTIN | self.own_options(page)
        for name in re.findall(r'-D(\w+)=', text):
            if name not in known:
                self.fail(page, f'the build has no option {name}')

    def check_talaria(self, page, text):
        for name in re.findall(r'(?:^|[ /])talaria ([a-z]+)\b', text):
            if not os.path.isdir(os.path.join(self.root, 'tools', name)):
                self.fail(page, f'there is no talaria {name}')
        for name, rest in re.findall(r'(?:^|[ /])talaria ([a-z]+)([^|&;`]*)', text):
            manual = f'tools/man/talaria-{name}.1'
            if not os.path.isfile(os.path.join(self.root, manual)):
                continue
            known = read(self.root, manual).replace('\\-', '-')
            for option in re.findall(r'(?:^| )(--[a-z-]+)', rest):
                if not re.search(re.escape(option) + r'\b', known):
                    self.fail(page, f'talaria {name} has no option {option}')

    def check_quote(self, page, words):
        """A part of a log line: of one literal, or of several in a row."""
        if self.literals is None:
            self.literals = ''
            for folder in ('core', 'plugins', 'tools'):
                for path, _, names in os.walk(os.path.join(self.root, folder)):
                    self.literals += ''.join(
                        read(path, name) for name in names
                        if name.endswith(('.c', '.h')))
            self.literals = re.sub(r'"\s*"', '', self.literals)
        if words not in self.literals:
            self.fail(page, f'no source has the text "{words}"')

    def check_meson_test(self, page, line):
        case = re.search(r"TALARIA_TEST_CASE='?([^' ]+)", line)
        if case and not fnmatch.filter(self.cases, case[1].split(':')[0]):
            self.fail(page, f'no case is named {case[1]}')
        words = re.search(r'meson test -C build\S*(.*)', line)
        if not words or self.tests is None:
            return
        words = re.sub(r" --wrap '[^']*'| -t \d+| -v| --(gdb|list|no-rebuild)",
                       '', words[1])
        for name in re.findall(r'--suite (\S+)', words):
            if name not in self.suites:
                self.fail(page, f'there is no suite {name}')
        words = re.sub(r'--suite \S+', '', words)
        for quoted, name in re.findall(r"'([^']+)'|(\S+)", words):
            if (quoted or name) not in self.tests:
                self.fail(page, f'there is no test {quoted or name}')

    def check_command(self, page, line):
        line = line.split(' #')[0].removeprefix('$ ')
        words = re.sub(r'^(?: *\w+=(?:\'[^\']*\'|"[^"]*"|\S*))+ ', '', line).split()
        if words and re.match(r'^(tools|test)/', words[0]) and \
                not os.access(os.path.join(self.root, words[0]), os.X_OK):
            self.fail(page, f'there is no program {words[0]}')
        self.check_options(page, line)
        self.check_talaria(page, line)
        self.check_meson_test(page, line)

    def check_page(self, page):
        """Returns the pages that it links to."""
        plain, commands = blocks_of(read(self.root, page))
        links = re.findall(r'\]\(([^)\s]+)\)', plain)
        if page not in PAST:
            for name in re.findall(r'`([^`\n]+)`', plain):
                self.check_name(page, name)
            for line in commands:
                self.check_command(page, line)
        return {self.check_link(page, link) for link in links} - {None}

    def check(self):
        leads = {page: self.check_page(page) for page in self.pages}
        near = {'README.md'}
        for _ in range(CLICKS):
            near |= {there for page in near for there in leads.get(page, ())}
        for heading, page in WANTED.items():
            if page not in near:
                self.fail(page, f'is more than {CLICKS} clicks from README.md')
            elif heading not in headings_of(read(self.root, page)):
                self.fail(page, f'has no heading "{heading}"')
        return self.failures


# A page, what is replaced in it, by what, and the complaint.
SPOILED = (
    ('README.md', '](CONTRIBUTING.md', '](CONTRIBUTE.md', 'there is no CONTR'),
    ('README.md', '#add-a-test', '#add-test', 'no heading #add-test'),
    ('CONTRIBUTING.md', '\n## Build\n', '\n## Make\n', 'no heading "Build"'),
    ('CONTRIBUTING.md', '`test/plugins/probe.c`', '`test/plugins/prob.c`',
     'there is no test/plugins/prob.c'),
    ('test/README.md', '`report.py`', '`rapport.py`', 'no file rapport.py'),
    ('CONTRIBUTING.md', '\ntools/install ', '\ntools/instal ',
     'no program tools/instal'),
    ('CONTRIBUTING.md', 'talaria check libna', 'talaria chek libna',
     'no talaria chek'),
    ('CONTRIBUTING.md', '`-Dofi=enabled`', '`-Dofy=enabled`', 'no option ofy'),
    ('CONTRIBUTING.md', 'CASE=deadline_passes', 'CASE=deadline_pass3s',
     'no case is named'),
    ('docs/troubleshooting.md', 'doctor --to=', 'doctor --too=', 'no option --too'),
    ('docs/troubleshooting.md', '"does not offer protocol"', '"does not have that"',
     'no source has the text'),
    ('SECURITY.md', ':user_other_is_refused', ':user_other_is_refuse',
     'no case sm/test_user.c:user_other_is_refuse'),
)


def self_test(root):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, 'copy')
        shutil.copytree(root, copy, symlinks=True,
                        ignore=shutil.ignore_patterns('build', '.git'))
        sound = Check(copy, None)
        for page, old, new, complaint in SPOILED:
            text = read(copy, page)
            assert old in text, (page, old)
            path = os.path.join(copy, page)
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text.replace(old, new))
            failures = Check(copy, None, sound).check()
            if not any(complaint in line for line in failures):
                print(f'FAIL: {page} with {new!r} passes: {failures}')
                failed += 1
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)
    return failed


def main():
    if sys.argv[1:2] == ['--self-test']:
        failed = self_test(sys.argv[2])
    else:
        failures = Check(sys.argv[1], sys.argv[2] if sys.argv[2:] else None).check()
        for line in failures:
            print(f'FAIL: {line}')
        failed = len(failures)
    print(f'docs.py: {failed} failed' if failed else 'docs.py: ok')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
