#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The site of the documentation is consistent and self-contained:

  site.py SITE LIBRARY   checks the pages in the folder SITE
  site.py --self-test SITE LIBRARY   alters copies of it

Every link and every entry of the search leads to an existing page and anchor;
style, scripts and pictures are files of the folder; pictures have a description,
the search has texts; anchors are unique; each page can be reached from index.html;
every exported function of the library is in the reference. Exit status 0, or 1
with what failed.
"""

import functools
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

SIZE_MAX = 6 << 20  # bytes of all files


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.resources, self.headings = [], [], [], 0
        self.untold = []  # pictures without a description
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if 'id' in attrs:
            self.ids.append(attrs['id'])
        self.headings += tag == 'h1'
        if tag == 'a' and 'href' in attrs:
            self.links.append(attrs['href'])
        for name in ('src', 'srcset', 'data', 'poster'):
            if name in attrs:
                self.resources.append(attrs[name])
        if tag == 'img' and not attrs.get('alt'):
            self.untold.append(attrs['src'])
        if tag == 'link':
            self.resources.append(attrs['href'])


parsed = functools.lru_cache(maxsize=None)(Page)


def load(folder):
    """The files by name; pictures as their size."""
    files = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        files[name] = ' ' * os.path.getsize(path)
        if name.endswith(('.html', '.css', '.js')):
            with open(path, encoding='utf-8') as file:
                files[name] = file.read()
    return files


def exported(library):
    text = subprocess.run(['nm', '-D', '--defined-only', library], check=True,
                          capture_output=True, text=True).stdout
    names = re.findall(r' T (\w+)', text)
    assert len(names) > 150, text
    return names


def check_links(files, pages, name, page):
    for link in page.links:
        if re.match(r'(https?|mailto):', link):
            continue
        path, _, anchor = link.partition('#')
        if path.endswith(('.png', '.svg')) and path in files:
            continue
        there = pages.get(path or name)
        if there is None:
            yield f'{name}: there is no {link}'
        elif anchor and anchor not in there.ids:
            yield f'{name}: there is no anchor {link}'


def check_search(index, pages):
    entries = json.loads(index.removeprefix('const INDEX = ')
                         .rstrip().removesuffix(';'))
    if len(entries) < 500:
        yield f'the search has {len(entries)} entries'
    for title, link, text, *_ in entries:
        path, _, anchor = link.partition('#')
        if path not in pages or anchor and anchor not in pages[path].ids:
            yield f'the search leads to {link} for {title}'
        if not anchor and not text:
            yield f'the search has no text of {link}'


def check(files, names):
    pages = {name: parsed(text) for name, text in files.items()
             if name.endswith('.html')}
    failures = [f'{name}: loads {found}' for name, text in files.items()
                if name.endswith('.css')
                for found in re.findall(r'@import.*|url\(.*?\)', text)]
    size = sum(map(len, files.values()))
    if size > SIZE_MAX:
        failures.append(f'the site has {size} bytes')
    for name, page in pages.items():
        failures += check_links(files, pages, name, page)
        failures += [f'{name}: loads {resource}' for resource in page.resources
                     if resource not in files]
        failures += [f'{name}: no description of {picture}'
                     for picture in page.untold]
        failures += [f'{name}: twice the anchor {one}' for one in
                     sorted({one for one in page.ids if page.ids.count(one) > 1})]
        if not page.headings:
            failures.append(f'{name}: no heading')
    reached, new = set(), {'index.html'}
    while new:
        reached |= new
        new = {link.partition('#')[0] for name in new if name in pages
               for link in pages[name].links} & set(pages) - reached
    failures += [f'{name} cannot be reached' for name in pages
                 if name not in reached]
    anchors = {one for name, page in pages.items() if name.startswith('api-')
               for one in page.ids}
    failures += [f'the reference lacks {name}' for name in names
                 if name not in anchors]
    return failures + list(check_search(files['search-index.js'], pages))


# A page, what is replaced in it, by what, and the complaint.
SPOILED = (
    ('start.html', 'href="migration.html', 'href="migrated.html', 'no migrated.html'),
    ('start.html', '#add-a-test', '#add-test', 'no anchor contributing.html#add-test'),
    ('index.html', '"style.css"', '"https://example.org/style.css"', 'loads https'),
    ('api-mercury.h.html', 'id="HG_Forward"', 'id="HG_Backward"',
     'lacks HG_Forward'),
    ('search-index.js', '"settings.html#sm.ring_size"', '"settings.html#sm.ring"',
     'leads to settings.html#sm.ring '),
    ('search-index.js', '"release.html","', '"release.html","","',
     'no text of release.html'),
    ('watching.html', 'alt="Terminal: talaria top', 'title="Terminal: talaria top',
     'no description of docs-images-top.png'),
    ('style.css', '/* Code */', '@import "other.css";', 'loads @import'),
)


def self_test(files, names):
    failures = []
    for name, old, new, complaint in SPOILED:
        assert old in files[name], (name, old)
        found = check({**files, name: files[name].replace(old, new)}, names)
        if not any(complaint in line for line in found):
            failures.append(f'{name} with {new!r} passes: {found[:5]}')
    return failures


def main():
    testing = sys.argv[1:2] == ['--self-test']
    folder, library = sys.argv[1 + testing:]
    failures = (self_test if testing else check)(load(folder), exported(library))
    for line in failures:
        print(f'FAIL: {line}')
    print(f'site.py: {len(failures)} failed' if failures else 'site.py: ok')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
