# SPDX-License-Identifier: BSD-3-Clause
"""Tests `run` with a project of a few lines, and a mutant for each possible
result."""

import os
import re
import subprocess
import sys
import tempfile

MESON = '''project('tiny', 'c', meson_version: '>= 1.0.1')
foreach option : ['tools']
  assert(get_option(option) == 'x', 'an option')
endforeach
exe = executable('sum', 'sum.c')
test('sum', exe, timeout: 5)
test('other', exe, args: 'other', timeout: 5)
test('broken', exe, args: 'broken', timeout: 5)
test('skips', exe, args: 'skips', timeout: 5)
'''
OPTIONS = "option('tools', type: 'string', value: 'x')\n"
SOURCE = '''#include <stdlib.h>
#include <string.h>

static int
sum(int a, int b)
{
    int result = a + b;

    return result;
}

int
main(int argc, char **argv)
{
    const char *only = getenv("TALARIA_TEST_CASE");

    if (argc > 1 && strcmp(argv[1], "other") == 0)
        return 0;
    if (argc > 1 && strcmp(argv[1], "broken") == 0)
        return 1;
    if (argc > 1 && strcmp(argv[1], "skips") == 0)
        return 77;
    if (only && strcmp(only, "zero") == 0)
        return sum(0, 0) != 0;
    return sum(1, 2) != 3 || sum(1, 2) != 3;
}
'''
WRONG = ('    int result = a + b;', '    int result = a - b;')
CLOBBER = ('    int result = a + b;', '    int result = a + c;')
SAME = ('    int result = a + b;', '    int result = b + a;')
ENDLESS = ('    int result = a + b;',
           '    int result = a + b; for (volatile int i = 0; i < 2;) ;')
CRASH = ('    int result = a + b;', '    int result = a / (b - b);')
GONE = ('    int result = a * b;', '    int result = a;')

# Name, lines of its head, its change, and how its line begins.
MUTANTS = [
    ('caught', 'test: sum', WRONG, r'PASS .* caught by sum: failed, exit status 1'),
    ('case', 'test: sum\ncase: zero', WRONG, r'FAIL .* survives: sum passes'),
    ('both', 'test: sum | other', WRONG, r'FAIL .* survives: other passes'),
    ('same', 'test: sum', SAME, r'FAIL .* survives: sum passes'),
    ('equal', 'test: sum\nexpect: survives\nwhy: addition commutes', SAME,
     r'PASS .* survives: addition commutes'),
    ('wrong', 'test: sum\nexpect: survives\nwhy: no reason', WRONG,
     r'FAIL .* is caught: its head expects that it survives'),
    ('empty', 'test: sum', None, r'FAIL .* survives: sum passes'),
    ('clobber', 'test: sum', CLOBBER, r'FAIL .* does not compile'),
    ('endless', 'test: sum', ENDLESS,
     r'PASS .* caught by sum: timeout, did not end in \d+ s'),
    ('crash', 'test: sum', CRASH, r'PASS .* caught by sum: crashed, signal 8'),
    ('gone', 'test: sum', GONE,
     r'FAIL .* does not apply any more: update it'),
    ('red', 'test: broken', WRONG, r'FAIL .* its test is failed without it'),
    ('skips', 'test: skips', WRONG, r'SKIP .* its test is skipped without it'),
    ('absent', 'test: none', WRONG, r'SKIP .* its test is skipped without it'),
]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def patch(change):
    """With a line of context, and a wrong line number."""
    if change is None:
        return ''
    return ('--- a/sum.c\n+++ b/sum.c\n@@ -3,3 +3,3 @@\n {\n'
            f'-{change[0]}\n+{change[1]}\n \n')


def call(run, folder, *arguments):
    done = subprocess.run(
        [sys.executable, run, '--source', os.path.join(folder, 'project'),
         '--patches', os.path.join(folder, 'patches'), *arguments],
        env=dict(os.environ, MUTANTS_SELF_TEST='1', TMPDIR=folder),
        capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def expect(wrong, what, good, output):
    if not good:
        wrong.append(what)
        print(f'{what}:\n{output}')


def resume(wrong, program, folder):
    """What a run with --results found is not tried again, until the patch or
    the sources change."""
    command = (program, folder, '-j', '1', '--work',
               os.path.join(folder, 'work'), '--results',
               os.path.join(folder, 'results'), 'one/caught', 'one/same',
               'one/clobber')
    caught = os.path.join(folder, 'patches/one/caught.patch')
    tried = r'\S+  one/(\w+) +\d+\.\d\d s  '
    for name, changed, wanted in (
            ('a first run', None, ['caught', 'clobber', 'same']),
            ('a second run', None, ['same', 'clobber']),
            ('a changed patch', caught, ['same', 'caught', 'clobber']),
            ('a changed source', os.path.join(folder, 'project/sum.c'),
             ['caught', 'clobber', 'same'])):
        if changed:
            with open(changed, 'a', encoding='utf-8') as file:
                file.write('\n')
        code, output = call(*command)
        expect(wrong, name, code == 1 and
               re.findall(tried, output) == wanted and
               '\n1 of 2 mutants caught' in output, output)
        expect(wrong, name + ': as an earlier one',
               ('an earlier run found' in output) == (wanted[0] == 'same'),
               output)


def run(program):
    wrong = []
    with tempfile.TemporaryDirectory(prefix='talaria-mutants-') as folder:
        write(os.path.join(folder, 'project/meson.build'), MESON)
        write(os.path.join(folder, 'project/meson_options.txt'), OPTIONS)
        write(os.path.join(folder, 'project/sum.c'), SOURCE)
        for name, head, change, _ in MUTANTS:
            write(os.path.join(folder, 'patches', 'one', name + '.patch'),
                  f'what: a fault\n{head}\n\n{patch(change)}')
        code, output = call(program, folder, '--work',
                            os.path.join(folder, 'work'))
        for name, _, _, line in MUTANTS:
            expect(wrong, name, re.search(
                line.replace(' .*', r'  one/' + name + r' .*'), output),
                output)
        expect(wrong, 'how they ended', '\nhow the first tests of those that '
               'are caught ended: crashed 1, failed 2, timeout 1\n' in output,
               output)
        expect(wrong, 'the number caught',
               '\n4 of 9 mutants caught, 1 survive as expected\n' in output,
               output)
        expect(wrong, 'exit status of failures', code == 1, output)
        with open(os.path.join(folder, 'work/0/source/sum.c'),
                  encoding='utf-8') as file:
            expect(wrong, 'taking back', file.read() == SOURCE, 'differs')
        code, output = call(program, folder, '-j', '1', '--work',
                            os.path.join(folder, 'work'), 'one/caught')
        expect(wrong, 'exit status of success', code == 0, output)
        resume(wrong, program, folder)
        code, output = call(program, folder, '--check')
        expect(wrong, '--check', code == 1 and
               'one/gone: does not apply any more: update it' in output and
               f'{len(MUTANTS) - 1} of {len(MUTANTS)} patches apply' in output,
               output)
        write(os.path.join(folder, 'patches/one/odd.patch'),
              'what: a fault\ntets: sum\n\n')
        code, output = call(program, folder, '--check')
        expect(wrong, 'a wrong head', code == 1 and 'tets' in output, output)
    print('self-test passed' if not wrong else 'wrong: ' + ', '.join(wrong))
    return 1 if wrong else 0
