#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the documentation as HTML that needs neither network nor server:

  site.py SOURCE_ROOT VERSION TARGET_DIR DEPFILE TALARIA PLUGIN_PATH

Every Markdown page of the tree becomes a page, man pages too, each public header a
page of the reference, and `talaria settings --json` the page of settings. All
files are in one folder, so links are names. NAVIGATION is what the menu has; all
pages are in a list. A line `<!-- table PAGE#heading -->` in a page stands for
the first table of that section. DEPFILE: set to the files that were read, for make.
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys

from markdown_it import MarkdownIt

import markup
import reference

HERE = os.path.dirname(os.path.abspath(__file__))
NAVIGATION = (
    ('Start', (
        ('docs/README.md', 'What Talaria is'),
        ('README.md', 'First program'),
        ('docs/transports.md', 'Choosing a transport'),
        ('docs/service.md', 'Writing a service'),
        ('examples/README.md', 'Examples'))),
    ('Guides', (
        ('docs/threads.md', 'Threads and waiting'),
        ('docs/embedding.md', 'Embedding'),
        ('docs/tuning.md', 'Tuning'),
        ('docs/performance.md', 'Performance'),
        ('docs/watching.md', 'Watching a service'),
        ('SECURITY.md', 'Security'),
        ('docs/troubleshooting.md', 'Troubleshooting'),
        ('docs/migration.md', 'Migration from Mercury'),
        ('subprojects/python/README.md', 'Python'))),
    ('Reference', (
        ('api', 'Functions and types'),
        ('settings', 'Settings'),
        ('commands', 'Commands'))),
    ('Transports', (
        ('plugins/sm/README.md', 'sm'),
        ('plugins/ofi/README.md', 'ofi'),
        ('plugins/ucx/README.md', 'ucx'),
        ('abi/README.md', 'Writing a plugin'),
        ('plugins/common/README.md', 'Parts of a plugin'),
        ('tools/check/README.md', 'Checking a plugin'),
        ('subprojects/vendor-plugin/README.md', 'A plugin to copy'))),
    ('Project', (
        ('CHANGELOG.md', 'Changes'),
        ('CONTRIBUTING.md', 'Contributing'),
        ('docs/architecture.md', 'Architecture'),
        ('core/README.md', 'Inside the core'),
        ('tools/perf/README.md', 'Measuring'),
        ('docs/machines.md', 'Machines'),
        ('pages', 'All pages'))),
)


def name_of(path):
    """The file of a page of the tree."""
    if path == 'docs/README.md':
        return 'index.html'
    if path == 'README.md':
        return 'start.html'
    if '.' not in path and '/' not in path:
        return path + '.html'
    if path.startswith('core/include/') and path.endswith('.h'):
        return f'api-{os.path.basename(path)}.html'
    if not path.endswith('.md'):
        return 'source-' + path.replace('/', '-') + '.html'
    path = re.sub(r'^docs/|/README\.md$|\.md$', '', path).replace('/', '-')
    return re.sub(r'\.md$', '', path).lower() + '.html'


class Site:
    def __init__(self, root, version, target):
        self.root = root
        self.version = version
        self.target = target
        self.markdown = MarkdownIt('commonmark').enable('table')
        self.places = reference.places(os.path.join(root, 'core/include'))
        for file in os.listdir(os.path.join(root, 'tools/man')):
            name = file.rsplit('.', 1)[0]
            self.places[name.replace('talaria-', 'talaria ')] = f'man-{file}.html'
        self.headings = []  # (text, address), for the search
        self.bodies = {}
        self.sources = set()  # files that pages refer to
        self.written = {}
        self.inputs = set()
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(target)

    def read(self, path):
        self.inputs.add(os.path.join(self.root, path))
        with open(os.path.join(self.root, path), encoding='utf-8') as file:
            return file.read()

    # Links

    def address(self, page, link):
        """Where a link of a page leads within the site, or None."""
        if re.match(r'[a-z]+:', link):
            return link
        path, _, anchor = link.partition('#')
        path = os.path.normpath(os.path.join(os.path.dirname(page), path)) \
            if path else page
        full = os.path.join(self.root, path)
        if os.path.isdir(full):
            path = os.path.normpath(os.path.join(path, 'README.md'))
            if not os.path.isfile(os.path.join(self.root, path)):
                return None
        if re.search(r'\.(svg|png)$', path):
            name = path.replace('/', '-')
            shutil.copy(full, os.path.join(self.target, name))
            return name
        if not path.endswith('.md') and not re.match(r'core/include/\w+\.h$', path):
            self.sources.add(path)
        return name_of(path) + ('#' + anchor if anchor else '')

    def table(self, page, link):
        """The first table of a section of another page, its links seen from a
        page."""
        path, _, anchor = link.partition('#')
        there = os.path.normpath(os.path.join(os.path.dirname(page), path))
        for section in re.split(r'^#+ ', self.read(there), flags=re.M)[1:]:
            heading, _, text = section.partition('\n')
            table = re.search(r'(^\|.*\n)+', text, re.M)
            if markup.slug(heading) == anchor and table:
                base = os.path.relpath(os.path.dirname(there), os.path.dirname(page))
                return re.sub(r'\]\((?![a-z]+:|#)', f']({base}/', table[0])
        raise ValueError(f'{page}: no table {link}')

    # Pages

    def write(self, name, title, body, toc=(), source=''):
        flat = [(name_of(path), label) for _, entries in NAVIGATION
                for path, label in entries]
        menu = ''
        for group, entries in NAVIGATION:
            menu += f'<h2>{group}</h2>\n<ul>\n'
            for path, label in entries:
                there = name_of(path)
                here = ' aria-current="page"' if there == name else ''
                menu += f'<li><a href="{there}"{here}>{label}</a></li>\n'
            menu += '</ul>\n'
        names = [there for there, _ in flat]
        around = ''
        if name in names:
            at = names.index(name)
            if at > 0:
                around += (f'<a rel="prev" href="{flat[at - 1][0]}">'
                           f'← {flat[at - 1][1]}</a>')
            if at + 1 < len(flat):
                around += (f'<a rel="next" href="{flat[at + 1][0]}">'
                           f'{flat[at + 1][1]} →</a>')
        contents = ''.join(f'<li><a href="#{anchor}">{text}</a></li>\n'
                           for text, anchor in toc)
        if len(toc) > 1:
            contents = f'<p>On this page</p>\n<ul>\n{contents}</ul>\n'
        else:
            contents = ''
        with open(os.path.join(HERE, 'page.html'), encoding='utf-8') as file:
            page = file.read()
        for key, value in (('title', html.escape(title)), ('menu', menu),
                           ('body', body), ('contents', contents),
                           ('around', around), ('version', self.version),
                           ('source', f' · {html.escape(source)}' if source
                            else '')):
            page = page.replace(f'<!--{key}-->', value)
        assert name not in self.written, name
        self.written[name] = (title, source)
        self.bodies[name] = body
        with open(os.path.join(self.target, name), 'w', encoding='utf-8') as file:
            file.write(page)

    def markdown_page(self, path):
        text = re.sub(r'^<!-- table (\S+) -->$',
                      lambda found: self.table(path, found[1]),
                      self.read(path), flags=re.M)
        body, headings = markup.render(
            self.markdown, text, lambda link: self.address(path, link),
            self.places)
        name = name_of(path)
        title = re.sub(r'<[^>]*>', '', headings[0][1]) if headings else path
        title = html.unescape(title)
        for level, heading, anchor in headings:
            if level <= 3:
                plain = html.unescape(re.sub(r'<[^>]*>', '', heading))
                self.headings.append(
                    (plain if level == 1 else f'{plain} — {title}',
                     name + (f'#{anchor}' if level > 1 else '')))
        toc = [(heading, anchor) for level, heading, anchor in headings
               if level == 2]
        self.write(name, title, body, toc, path)

    def markdown_pages(self):
        for folder, folders, files in os.walk(self.root):
            folders[:] = [name for name in sorted(folders)
                          if name not in ('.git', 'build', 'packagecache')
                          and not os.path.exists(os.path.join(
                              folder, name, 'meson-private'))]
            for name in sorted(files):
                if name.endswith('.md'):
                    self.markdown_page(os.path.relpath(
                        os.path.join(folder, name), self.root))

    def source_pages(self):
        for path in sorted(self.sources):
            body = (f'<h1><code>{html.escape(path)}</code></h1>\n' +
                    markup.highlight(self.read(path), path))
            self.write(name_of(path), path, body)

    def man_pages(self):
        folder = os.path.join(self.root, 'tools/man')
        entries = ''
        for file in sorted(os.listdir(folder)):
            name, section = file.rsplit('.', 1)
            result = subprocess.run(
                ['mandoc', '-Thtml', '-Ofragment,man=man-%N.%S.html',
                 os.path.join(folder, file)], capture_output=True, text=True,
                check=True)
            body = re.sub(r'<table class="(head|foot)">.*?</table>', '',
                          result.stdout, flags=re.S)
            # References to pages of the system lead nowhere here.
            body = re.sub(
                r'<a class="Xr" href="man-([^"]*)\.html">(.*?)</a>',
                lambda found: found[0] if os.path.exists(
                    os.path.join(folder, found[1])) else found[2], body)
            about = re.search(r'^\.SH NAME\n.* \\- (.*)',
                              self.read(f'tools/man/{file}'), re.M)[1]
            title = f'{name}({section})'
            entries += (f'<li><a href="man-{file}.html">{title}</a>: '
                        f'{html.escape(about)}</li>\n')
            self.headings.append((title, f'man-{file}.html'))
            toc = [(heading.capitalize(), anchor) for anchor, heading in re.findall(
                r'<h1 class="Sh" id="([^"]*)"><a [^>]*>(.*?)</a>', body)]
            self.write(f'man-{file}.html', title, f'<h1>{title}</h1>\n'
                       f'<div class="man">{body}</div>', toc)
        self.write('commands.html', 'Commands',
                   f'<h1>Commands</h1>\n<p>The manual pages, also by '
                   f'<code>man</code>.</p>\n<ul>\n{entries}</ul>\n')

    def settings_page(self, talaria, plugin_path):
        result = subprocess.run(
            [talaria, 'settings', '--json'], check=True, capture_output=True,
            text=True, env={'TALARIA_PLUGIN_PATH': plugin_path,
                            'PATH': '/usr/bin:/bin'})
        rows = json.loads(result.stdout)['settings']
        body = ('<h1>Settings</h1>\n<p>A setting is a variable of the environment, '
                'or, where it has a key, a string <code>key=value</code> of '
                '<a href="api-talaria.h.html#talaria_hg_init"><code>talaria_hg_init'
                '</code></a> for one class. <code>talaria settings</code> prints '
                'this table with the present values, and names variables that are '
                'misspelled. The notation of values: '
                '<a href="abi.html#settings">settings</a>.</p>\n')
        toc = []
        titles = {'core': 'Core', 'na': 'sm'}  # which sorts first
        for title, owner in sorted({(titles.get(row['owner'], row['owner']),
                                     row['owner']) for row in rows}):
            toc.append((title, owner))
            body += (f'<h2 id="{owner}">{title}</h2>\n<dl class="settings">\n')
            for row in rows:
                if row['owner'] != owner:
                    continue
                name = row['key'] or row['variable']
                self.headings.append((name, f'settings.html#{name}'))
                variable = f' <code>{row["variable"]}</code>' if row['key'] else ''
                default = f'Default <code>{html.escape(row["default"])}</code>. ' \
                    if row['default'] else ''
                about = html.escape(row['text'])
                body += (f'<dt id="{name}"><code>{name}</code>{variable}</dt>\n'
                         f'<dd>{about[:1].upper() + about[1:]}.<br>\n'
                         f'<small>{default}Range: {html.escape(row["range"])}.'
                         f'</small></dd>\n')
            body += '</dl>\n'
        self.write('settings.html', 'Settings', body, toc)

    def reference_pages(self):
        for name, title, body, toc, headings in reference.pages(
                os.path.join(self.root, 'core/include')):
            self.headings += headings
            self.write(name, title, body, toc)

    def list_pages(self):
        """Of those of Markdown the menu has a part."""
        entries = ''.join(f'<li><a href="{name}">{html.escape(title)}</a>: '
                          f'<code>{source}</code></li>\n'
                          for name, (title, source) in
                          sorted(self.written.items(), key=lambda item: item[1][1])
                          if source.endswith('.md'))
        self.write('pages.html', 'All pages', '<h1>All pages</h1>\n<p>With the files '
                   f'that they are made of.</p>\n<ul>\n{entries}</ul>\n')

    def section_texts(self):
        """The text below each heading, by its address."""
        anchors = {}
        for _, address in self.headings:
            name, _, anchor = address.partition('#')
            anchors.setdefault(name, set()).add(anchor)
        texts = {}
        for name, wanted in anchors.items():
            body = self.bodies[name]
            starts = [(found[1], found.start()) for found in re.finditer(
                r'<\w+ (?:[^>]* )?id="([^"]*)"', body) if found[1] in wanted]
            ends = [start for _, start in starts] + [len(body)]
            for (anchor, start), end in zip([('', 0), *starts], ends):
                plain = re.sub(r'</?(a|b|code|em|i|small|span|strong)\b[^>]*>', '',
                               body[start:end])
                plain = html.unescape(re.sub(r'<[^>]*>', ' ', plain))
                texts[name + (f'#{anchor}' if anchor else '')] = \
                    re.sub(r'\s+', ' ', plain).strip()
        return texts

    def menu_order(self, entry):
        """Where the menu has the page of an entry of the search."""
        name = re.sub(r'#.*', '', entry[1])
        name = re.sub(r'^api-.*', 'api.html', re.sub(r'^man-.*', 'commands.html', name))
        names = [name_of(path) for _, entries in NAVIGATION for path, _ in entries]
        return names.index(name) if name in names else len(names)

    def search(self):
        texts = self.section_texts()
        with open(os.path.join(self.target, 'search-index.js'), 'w',
                  encoding='utf-8') as file:
            file.write('const INDEX = ' + json.dumps(
                [(text, address, texts[address]) for text, address in
                 sorted(self.headings, key=self.menu_order)],
                ensure_ascii=False, separators=(',', ':')) + ';\n')
        for name in ('style.css', 'search.js'):
            shutil.copy(os.path.join(HERE, name), self.target)


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    root, version, target, depfile, talaria, plugin_path = sys.argv[1:]
    site = Site(root, version, target)
    site.markdown_pages()
    site.reference_pages()
    site.settings_page(talaria, plugin_path)
    site.man_pages()
    site.source_pages()
    site.list_pages()
    site.search()
    with open(depfile, 'w', encoding='utf-8') as file:
        file.write(f'{target}: {" ".join(sorted(site.inputs))}\n')


if __name__ == '__main__':
    main()
