# SPDX-License-Identifier: BSD-3-Clause
"""A copy of the sources, its build directories, and the tests run in them."""

import filecmp
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]

import report  # noqa: E402

SANITIZED = ['-Dofi=disabled', '-Ducx=disabled', '-Doptimization=1']
OPTIONS = {
    'gcc': ['-Doptimization=1', '-Ddebug=false'],
    'asan': SANITIZED + ['-Db_sanitize=address,undefined',
                         '-Dc_args=-fno-sanitize-recover=all'],
    'tsan': SANITIZED + ['-Db_sanitize=thread'],
}
SANITIZERS = {
    'ASAN_OPTIONS': 'detect_leaks=1:strict_string_checks=1:'
                    'detect_stack_use_after_return=1:allocator_may_return_null=1',
    'UBSAN_OPTIONS': 'print_stacktrace=1',
    'TSAN_OPTIONS': 'second_deadlock_stack=1:allocator_may_return_null=1',
}
# Multiplies time limits within tests, as in test/run.
STRETCH = {'gcc': '4', 'asan': '12', 'tsan': '20'}
FOREIGN = re.compile(r'(TALARIA|HG|NA|CK|MESON)_|(CC|CXX|C(XX|PP)?FLAGS|LDFLAGS'
                     r'|DESTDIR)$')
MARK = 'MUTANT_RUN'
marks = []  # of all copies
# The time limit of a test with a mutant: a factor of its duration without one, plus
# seconds. Without a mutant the limit is PATIENCE_MOST seconds.
PATIENCE, PATIENCE_LEAST = 4, 15
PATIENCE_MOST = 600
# The lines of libcheck for cases: with a failed check, and with other errors.
CHECKED = re.compile(r'^\S+:\d+:F:', re.M)
CRASHED = re.compile(r'^\S+:\d+:E:.*\bReceived signal', re.M)
EXPIRED = re.compile(r'^\S+:\d+:E:.*\bTest timeout expired', re.M)
if 'MUTANTS_SELF_TEST' in os.environ:  # selftest.py
    OPTIONS = {'gcc': []}
    PATIENCE_LEAST = 2


class Broken(Exception):
    """A mutant cannot be judged."""

    def __init__(self, text, output=''):
        super().__init__(text)
        self.output = output


def tests_of(build):
    """Meson's description of each test, by suite/name, and by name if only one
    suite has it."""
    path = os.path.join(build, 'meson-info', 'intro-tests.json')
    found, twice = {}, set()
    with open(path, encoding='utf-8') as file:
        for test in json.load(file):
            name = test['name']
            if name in found:
                twice.add(name)
            found[name] = test
            for suite in map(report.plain, test['suite']):
                found[f'{suite}/{name}'] = test
    for name in twice:
        del found[name]
    return found


def marked(mark):
    """Processes with the mark in their environment."""
    wanted = f'{MARK}={mark}'.encode()
    for entry in os.listdir('/proc'):
        if entry.isdigit():
            try:
                with open(f'/proc/{entry}/environ', 'rb') as file:
                    if wanted in file.read().split(b'\0'):
                        yield int(entry)
            except OSError:
                pass


def end_processes(mark):
    """Kills the processes that a test has left, and those that they start."""
    for _ in range(9):
        pids = list(marked(mark))
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.02)


def end_all():
    for mark in marks:
        end_processes(mark)


def source_files(source):
    """The files of the project: those that git lists, or all but builds."""
    listed = None
    if shutil.which('git'):
        listed = subprocess.run(
            ['git', '-C', source, 'ls-files', '-z', '--cached', '--others',
             '--exclude-standard'], capture_output=True, check=False)
    if listed and listed.returncode == 0:
        return [os.fsdecode(path) for path in listed.stdout.split(b'\0')
                if path and os.path.isfile(os.path.join(os.fsencode(source),
                                                        path))]
    found = []
    for folder, inner, names in os.walk(source):
        inner[:] = [name for name in inner if name not in ('.git', 'build')]
        found += [os.path.relpath(os.path.join(folder, name), source)
                  for name in names]
    return found


def ended(code, output):
    """Status, reason and output of a test that did not succeed."""
    if code < 0:
        return 'crashed', f'signal {-code}', output
    reason = f'exit status {code}'
    if not CHECKED.search(output):
        if CRASHED.search(output):
            return 'crashed', reason + ', a case crashed', output
        if EXPIRED.search(output):
            return 'timeout', reason + ', a case did not end', output
    return 'failed', reason, output


class Tree:
    """One copy."""

    def __init__(self, source, path, share, launch):
        self.launch = launch
        self.share = share
        self.mark = f'{os.getpid()}.{time.time_ns()}.{os.path.basename(path)}'
        self.known = {}
        self.limits = {}
        self.tmp = os.path.join(path, 'tmp')
        self.env = {name: value for name, value in os.environ.items()
                    if not FOREIGN.match(name)}
        self.env.update(SANITIZERS, TMPDIR=self.tmp, LC_ALL='C.UTF-8',
                        CCACHE_NOHASHDIR='1',
                        CCACHE_BASEDIR=os.path.join(path, 'source'))
        self.env[MARK] = self.mark
        self.work = path
        self.path = os.path.join(path, 'source')
        shutil.rmtree(self.tmp, ignore_errors=True)
        os.makedirs(self.tmp)
        os.makedirs(self.path, exist_ok=True)
        marks.append(self.mark)
        self.copy(source)

    def copy(self, source):
        wanted = source_files(source)
        for name in wanted:
            old, new = os.path.join(source, name), os.path.join(self.path, name)
            if not os.path.exists(new) or not filecmp.cmp(old, new, False):
                os.makedirs(os.path.dirname(new), exist_ok=True)
                shutil.copyfile(old, new)
                shutil.copymode(old, new)
        wanted = set(wanted)
        for folder, _, names in os.walk(self.path):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.path) not in wanted:
                    os.unlink(path)

    def call(self, command, what):
        done = subprocess.run(
            [*self.launch, *command], env=self.env, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise Broken(what, done.stdout.decode(errors='replace'))

    def configured(self, build):
        """The build directory, its tests and the files of its targets."""
        if build in self.known:
            return self.known[build]
        folder = os.path.join(self.work, build)
        if not os.path.exists(os.path.join(folder, 'build.ninja')):
            compilers = ['CC=ccache gcc', 'CXX=ccache g++']
            self.call(['env', *(compilers if shutil.which('ccache') else []),
                       'meson', 'setup', *OPTIONS[build], folder, self.path],
                      f'{build} cannot be configured')
        else:  # from an earlier run, with other sources
            self.call(['ninja', '-C', folder, 'build.ninja'],
                      f'{build} cannot be configured anew')
        path = os.path.join(folder, 'meson-info', 'intro-targets.json')
        with open(path, encoding='utf-8') as file:
            files = {target['id']: target['filename']
                     for target in json.load(file)}
        self.known[build] = folder, tests_of(folder), files
        return self.known[build]

    def build(self, build, test):
        folder, _, files = self.configured(build)
        targets = [os.path.relpath(name, folder)
                   for target in test['depends'] for name in files[target]]
        if not targets:
            return True, ''
        jobs = max(1, (os.cpu_count() or 1) // self.share)
        done = subprocess.run(
            [*self.launch, 'ninja', '-C', folder, '-j', str(jobs), *targets],
            env=self.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False,
            stderr=subprocess.STDOUT)
        return done.returncode == 0, done.stdout.decode(errors='replace')

    def run(self, build, test, case, limit):
        """Status, reason and output."""
        env = dict(self.env, **test['env'])
        env['CK_TIMEOUT_MULTIPLIER'] = STRETCH[build]
        if case:
            env['TALARIA_TEST_CASE'] = case
        command = list(test['cmd'])
        folder = os.path.join(self.work, build)
        if build == 'tsan':
            command[:0] = ['setarch', os.uname().machine, '-R']
        log = os.path.join(self.work, 'log')
        begun, begins = os.pipe()
        command[:0] = [*self.launch, 'bash', '-c',
                       f'exec {begins}>&-; exec "$@"', 'bash']
        with open(log, 'wb') as file:
            with subprocess.Popen(
                    command, env=env, cwd=test['workdir'] or folder, stdout=file,
                    stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                    start_new_session=True, pass_fds=[begins]) as process:
                os.close(begins)
                os.read(begun, 1)  # end of file: the launcher may have waited
                os.close(begun)
                try:
                    code = process.wait(limit)
                except subprocess.TimeoutExpired:
                    code = None
                    process.kill()
        end_processes(self.mark)
        shutil.rmtree(self.tmp, ignore_errors=True)
        os.makedirs(self.tmp)
        with open(log, encoding='utf-8', errors='replace') as file:
            output = file.read()
        if code is None:
            return 'timeout', f'did not end in {limit:.0f} s', output
        if code == 77:
            lines = [line for line in output.split('\n') if line.strip()]
            return 'skipped', lines[-1].strip() if lines else '', output
        if report.COMPLAINT.search(output):
            return 'sanitizer', 'a sanitizer complained', output
        if code == 0:
            return 'passed', '', output
        return ended(code, output)

    def try_test(self, what, name):
        """Builds and runs a test with the present sources. The first run is the
        control, with Meson's limit only, and sets the limit of later ones."""
        _, tests, _ = self.configured(what.build)
        test = tests.get(name)
        if test is None:
            return 'skipped', 'is not built here', ''
        built, output = self.build(what.build, test)
        if not built:
            return 'unbuilt', 'does not compile', output
        key = (what.build, name, what.case)
        limit = self.limits.get(key, PATIENCE_MOST)
        for _ in range(what.times if key in self.limits else 1):
            started = time.monotonic()
            result = self.run(what.build, test, what.case, limit)
            if key not in self.limits:
                self.limits[key] = PATIENCE_LEAST + \
                    PATIENCE * (time.monotonic() - started)
            if result[0] == 'timeout' and limit < PATIENCE_MOST:
                # the machine may have been busy
                result = self.run(what.build, test, what.case, 2 * limit)
            if result[0] != 'passed':
                break
        return result
