#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Parts of test_top.sh and test_trace.sh.

  watch.py get URL [HOST] [METHOD]   prints the status and the body
  watch.py metric FILE NAME LABEL=VALUE...  prints the sum of a metric
  watch.py format FILE               checks the exposition format
  watch.py trace FILE                checks a trace, and prints a summary
  watch.py page KIND                 publishes an invalid page until it is killed
"""
import fcntl
import json
import mmap
import os
import re
import struct
import sys
import time
import urllib.error
import urllib.request

LINE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)*)\})? '
                  r'([0-9.e+-]+|\+Inf)$')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"')
# of core/watch/page.h
MAGIC = 0x3168637461772d74
F_ADD_SEALS, F_SEAL_SHRINK = 1033, 2


def get(url, host=None, method='GET'):
    request = urllib.request.Request(url, method=method)
    if host:
        request.add_header('Host', host)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            print(response.status)
            print(response.read().decode(), end='')
    except urllib.error.HTTPError as error:
        print(error.code)


def metric(path, name, *wanted):
    total = 0
    with open(path, encoding='utf-8') as file:
        for line in file:
            match = LINE.match(line.rstrip('\n'))
            if not match or match[1] != name:
                continue
            labels = dict(LABEL.findall(match[2] or ''))
            if all(labels.get(w.split('=')[0]) == w.split('=', 1)[1]
                   for w in wanted):
                total += float(match[3])
    print(round(total))


def check_format(path):
    """Each line is a comment or a sample of a metric that has a type; buckets
    do not decrease, and the last one is the count."""
    types, buckets = {}, {}
    with open(path, encoding='utf-8') as file:
        for line in file.read().splitlines():
            if line.startswith('# TYPE '):
                name, kind = line.split()[2:]
                assert name not in types, line
                types[name] = kind
            if line.startswith('#'):
                continue
            match = LINE.match(line)
            assert match, line
            base = re.sub(r'_(bucket|sum|count)$', '', match[1])
            assert match[1] in types or types.get(base) == 'histogram', line
            if match[1].endswith('_bucket'):
                key = re.sub(r',le="[^"]*"', '', match[2])
                assert float(match[3]) >= buckets.get(key, 0), line
                buckets[key] = float(match[3])
            if match[1] == base + '_count':
                assert buckets[match[2]] == float(match[3]), line
    assert types, 'no metric'


def check_trace(path):
    """Slices of a lane are nested and closed, times in order, and each arrow
    has both ends. Lanes have names, in their order; processes have their addresses,
    which are those of the calls."""
    with open(path, encoding='utf-8') as file:
        events = json.load(file)
    lanes, arrows, names = {}, {}, {}
    titles, order, labels, peers = {}, {}, set(), set()
    for event in events:
        phase, lane = event['ph'], (event['pid'], event.get('tid'))
        if phase == 'B':
            lanes.setdefault(lane, []).append(event['name'])
            names.setdefault(event['pid'], []).append(event['name'])
            peers |= {event['args'][key] for key in ('to', 'from')
                      if key in event.get('args', ())}
        elif phase == 'E':
            assert lanes[lane], f'nothing to end: {event}'
            lanes[lane].pop()
        elif phase in 'sf':
            assert lanes[lane], f'an arrow outside of a slice: {event}'
            ends = arrows.setdefault(event['id'], {})
            assert phase not in ends, f'twice: {event}'
            ends[phase] = event
        else:
            assert phase == 'M', event
            if event['name'] == 'process_labels':
                labels.add(event['args']['labels'])
            elif event['name'] == 'thread_name':
                titles[lane] = event['args']['name'].split()
            elif event['name'] == 'thread_sort_index':
                order[lane] = event['args']['sort_index']
    assert not any(lanes.values()), f'open: {lanes}'
    assert lanes.keys() == titles.keys() == order.keys(), (titles, order)
    assert sorted(titles, key=order.get) == sorted(
        titles, key=lambda lane: (titles[lane][0], int(titles[lane][1]))), order
    # "?": a client over UCX, which does not listen, has no address.
    assert len(names) < 2 or peers - {'?'} == labels, (peers, labels)
    joined = across = 0
    for ends in arrows.values():
        if len(ends) == 2:
            joined += 1
            assert ends['s']['ts'] <= ends['f']['ts'], ends
            across += ends['s']['pid'] != ends['f']['pid']
    print(f'processes={len(names)} arrows={len(arrows)} joined={joined} '
          f'across={across} handlers='
          f'{sum(n.count("handler") for n in names.values())}')


def page_file(kind):
    size = int(os.environ['WATCH_PAGE_SIZE'])
    file = os.memfd_create('talaria-watch', os.MFD_ALLOW_SEALING)
    os.ftruncate(file, 0 if kind == 'empty' else 100 if kind == 'short' else size)
    if kind not in ('empty', 'short'):
        memory = mmap.mmap(file, size)
        if kind != 'many':
            memory[:] = (b'\xff' if kind == 'ones' else b'\x07') * size
        memory[0:24] = struct.pack('QQQ', MAGIC, size, os.getpid())
        # look_until and look, then an even sequence
        memory[24:40] = struct.pack('QII', 0, 0, 4)
        if kind in ('odd', 'many'):
            memory[36:40] = struct.pack('I', 5)
        if kind == 'counts':  # valid numbers of entries, numbers that are not
            memory[40:88] = struct.pack('6Q', 9, 8, 7, 128, 64, 8)
        if kind != 'unsealed':
            fcntl.fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK)
    return file


def page(kind):
    """A file like a page: empty, short, unsealed, or filled with a pattern; many:
    two hundred that are never complete."""
    files = [page_file(kind)]
    if kind == 'many':
        files += [page_file(kind) for _ in range(199)]
    print('ready', flush=True)
    if kind == 'unsealed':
        size = int(os.environ['WATCH_PAGE_SIZE'])
        while True:
            os.ftruncate(files[0], 0)
            os.ftruncate(files[0], size)
    time.sleep(600)


if __name__ == '__main__':
    {'get': get, 'metric': metric, 'format': check_format,
     'trace': check_trace, 'page': page}[sys.argv[1]](*sys.argv[2:])
