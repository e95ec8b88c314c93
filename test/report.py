#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The tests of one Meson build directory, and their results.

    report.py list BUILD_DIR
        prints the suites, one per line
    report.py targets BUILD_DIR SUITE...
        prints the targets that the tests of these suites need, one per line,
        with Ninja's names
    report.py results BUILD_NAME BUILD_DIR RESULTS [SUITE...]
        prints a line for each test of these suites (default: all), and the output
        of those that failed; appends STATUS, name and reason to the file RESULTS
    report.py table LOG...
        prints a table in Markdown of the output of test/run on several machines:
        one column for each log, one row for each suite of each build

A test without a result counts as failed, as does one that succeeded with a report
of a sanitizer.
"""

import json
import os
import re
import sys

LINES_SHOWN = 200
STATUS = {'OK': 'PASS', 'EXPECTEDFAIL': 'PASS', 'SKIP': 'SKIP'}
REASON = {'TIMEOUT': 'did not end in time', 'INTERRUPT': 'interrupted',
          'UNEXPECTEDPASS': 'passes, and should fail'}
COMPLAINT = re.compile(r'(ERROR: \w+|WARNING: Thread)Sanitizer|: runtime error: ')


def plain(suite):
    """The suite in project:suite."""
    return suite.split(':', 1)[-1]


def introspected(build, what):
    path = os.path.join(build, 'meson-info', f'intro-{what}.json')
    with open(path, encoding='utf-8') as file:
        return json.load(file)


def defined(build, suites):
    """Suite and description of every test that should run."""
    for test in introspected(build, 'tests'):
        for suite in map(plain, test['suite'] or ['']):
            if not suites or suite in suites:
                yield suite, test
                break


def targets(build, suites):
    """The files that these tests run or depend on."""
    needed = set()
    for _, test in defined(build, suites):
        needed.update(test['depends'])
    return sorted(os.path.relpath(file, build)
                  for target in introspected(build, 'targets')
                  if target['id'] in needed for file in target['filename'])


def parts(text):
    """Suites and name of a test from the log: `project:suite+suite / name`, with
    newer versions of Meson `suite+suite - project:name`."""
    for form in (r'(?P<suites>\S+) / (?P<name>.*)',
                 r'(?:(?P<suites>\S+) - )?[^\s:]+:(?P<name>.*)'):
        found = re.fullmatch(form, text)
        if found:
            return plain(found['suites'] or '').split('+'), found['name']
    return [''], text


def logged(build):
    """The results, by (suite, name)."""
    path = os.path.join(build, 'meson-logs', 'testlog.json')
    results = {}
    if os.path.exists(path):
        with open(path, encoding='utf-8') as file:
            for line in file:
                result = json.loads(line)
                suites, name = parts(result['name'])
                for suite in suites:
                    results[suite, name] = result
    return results


def output(result):
    return result.get('stdout', '') + result.get('stderr', '')


def judge(result):
    """Status and reason."""
    if result is None:
        return 'FAIL', 'did not run'
    status = STATUS.get(result['result'], 'FAIL')
    lines = output(result).split('\n')
    if status == 'PASS' and COMPLAINT.search(output(result)):
        return 'FAIL', 'a sanitizer complained'
    if status == 'SKIP':
        reasons = [line.strip() for line in lines if line.strip()]
        return status, reasons[-1] if reasons else 'no reason given'
    if status == 'FAIL':
        code = result['returncode']
        ended = f'signal {-code}' if code < 0 else f'exit status {code}'
        return status, REASON.get(result['result'], ended)
    return status, ''


def report(build_name, build, results_path, suites):
    results = logged(build)
    with open(results_path, 'a', encoding='utf-8') as file:
        for suite, name in sorted((suite, test['name'])
                                  for suite, test in defined(build, suites)):
            result = results.get((suite, name)) or results.get(('', name))
            status, reason = judge(result)
            full = f'{build_name} {suite}/{name}'
            seconds = result['duration'] if result else 0
            print(f'{status}  {full:<40} {seconds:7.2f} s  {reason}'.rstrip())
            file.write(f'{status}\t{full}\t{reason}\n')
            if status == 'FAIL' and result:
                for line in output(result).rstrip().split('\n')[-LINES_SHOWN:]:
                    print('    | ' + line)


LINE = re.compile(r'(?P<status>PASS|FAIL|SKIP)  (?P<name>.*?) +[0-9.]+ s(?:  |$)')


def column(path):
    """The machine, the versions, and the counts of each status by suite, from the
    output of a run."""
    machine, versions, counts = '', [], {}
    with open(path, encoding='utf-8', errors='replace') as file:
        for line in file:
            fact = re.match(r'      (on|with) (.*)', line)
            if fact and fact[1] == 'on':
                machine = fact[2]
            elif fact:
                versions.append(fact[2])
            item = LINE.match(line)
            if item:
                suite = re.match(r'(\w+) ([\w-]+)/', item['name'])
                row = f'{suite[1]}, {suite[2]}' if suite else 'builds and checks'
                for key in row, 'all':
                    of_row = counts.setdefault(key, {})
                    of_row[item['status']] = of_row.get(item['status'], 0) + 1
    return machine, ', '.join(versions), counts


def cell(counts):
    words = [str(counts.get('PASS', 0))]
    words += [f'**{counts["FAIL"]} failed**'] if 'FAIL' in counts else []
    words += [f'{counts["SKIP"]} skipped'] if 'SKIP' in counts else []
    return ', '.join(words) if counts else '–'


def table(paths):
    columns = [column(path) for path in paths]
    rows = dict.fromkeys(row for _, _, counts in columns for row in counts)
    # The sum is the last row.
    rows = [row for row in rows if row != 'all'] + ['all']
    print('| | ' + ' | '.join(machine for machine, _, _ in columns) + ' |')
    print('| --- |' + ' --- |' * len(columns))
    print('| versions | ' + ' | '.join(v for _, v, _ in columns) + ' |')
    for row in rows:
        cells = [cell(counts.get(row, {})) for _, _, counts in columns]
        print(f'| {row} | ' + ' | '.join(cells) + ' |')


def main():
    if sys.argv[1] == 'list':
        print('\n'.join(sorted({s for s, _ in defined(sys.argv[2], [])})))
    elif sys.argv[1] == 'targets':
        print('\n'.join(targets(sys.argv[2], sys.argv[3:])))
    elif sys.argv[1] == 'table':
        table(sys.argv[2:])
    else:
        report(*sys.argv[2:5], sys.argv[5:])


if __name__ == '__main__':
    main()
