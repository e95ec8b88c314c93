# SPDX-License-Identifier: BSD-3-Clause
"""The reference of the interface as HTML, from the public headers."""

import html
import re
import textwrap

import headers as reader
import markup

# In this order; the others follow.
FIRST = ('mercury.h', 'mercury_bulk.h', 'mercury_macros.h', 'mercury_proc.h',
         'mercury_request.h', 'mercury_hl.h', 'talaria.h', 'mercury_types.h')


class Reference:
    def __init__(self, folder):
        found, self.index = reader.read_all(folder)
        self.headers = sorted(found, key=lambda header: (
            FIRST.index(header.name) if header.name in FIRST else len(FIRST),
            header.name))
        self.codes = reader.codes_of(self.headers)
        self.headings = []
        self.files = {header.name: f'api-{header.name}.html' for header in found}
        self.places = {name: self.anchor(name)
                       for name in [*self.files, *self.index]}

    def anchor(self, name):
        if name in self.files:
            return self.files[name]
        return f'api-{self.index[name].header.name}.html#{name}'

    def words(self, text):
        text = html.escape(re.sub(r'\s+', ' ', text).strip(), quote=False)
        text = re.sub(r'`([^`]*)`', r'<code>\1</code>', text)
        return re.sub(
            r'\b(?:\w+\.h\b|\w+_\w*\*?)(?!\()', lambda found:
            f'<a href="{self.anchor(found[0])}"><code>{found[0]}</code></a>'
            if found[0] in self.places else f'<code>{found[0]}</code>'
            if re.search(r'_|\.h', found[0]) else found[0], text)

    def paragraph(self, text):
        if text.startswith('- '):
            points = re.split(r'(?:^|\n)- ', text)[1:]
            return '<ul>\n' + ''.join(f'<li>{self.words(point)}</li>\n'
                                      for point in points) + '</ul>\n'
        if re.match(r'[^\n]*\n  |  |MERCURY_\w+\(', text) and \
                not re.match(r'[A-Z][A-Z0-9_]+: ', text):
            return markup.highlight(textwrap.dedent(text), 'c')
        return f'<p>{self.words(text)}</p>\n'

    def listed(self, title, entries):
        if not entries:
            return ''
        return f'<h4>{title}</h4>\n<dl>\n' + ''.join(
            f'<dt><code>{html.escape(term)}</code></dt>\n'
            f'<dd>{self.words(text[:1].upper() + text[1:])}</dd>\n'
            for term, text in entries) + '</dl>\n'

    def meaning(self, codes):
        enums = self.index['na_return_t'].declarations[0] + \
            self.index['hg_return_t'].declarations[0]
        return ' '.join(re.search(rf'\b{code},? +/\* (.*?) \*/', enums)[1] + '.'
                        for code in codes.split(', '))

    def item(self, item):
        anchors = ''.join(f'<a id="{name}"></a>' for name in
                          item.names[1:] + item.types
                          if self.index.get(name) is item)
        declared = markup.highlight('\n'.join(item.declarations), 'c')
        if not item.names:
            text = ''.join(map(self.paragraph, reader.paragraphs(item)))
            return f'<section class="type">{anchors}\n{text}{declared}</section>\n'
        text = reader.take_apart(item, self.codes)
        for name in item.names:
            self.headings.append((name, self.anchor(name)))
        body = ''.join(map(self.paragraph, text.description))
        body += self.listed('Parameters', text.parameters)
        if text.returned:
            body += ('<h4>Returns</h4>\n' if text.description else '') + \
                ''.join(map(self.paragraph, text.returned))
        body += self.listed('Errors', [
            (codes, why.rstrip('.') + '.' if why else self.meaning(codes))
            for codes, why in text.errors])
        if text.any_thread:
            body += '<p>Any thread may call it, at any time.</p>\n'
        title = ', '.join(item.names[:3]) + (' …' if item.names[3:] else '')
        return (f'<section class="function">{anchors}\n'
                f'<h3 id="{item.names[0]}">{title}</h3>\n{declared}{body}'
                '</section>\n')

    def header(self, header):
        body = f'<h1>{header.name}</h1>\n' + ''.join(map(
            self.paragraph, reader.overview_of(header)))
        toc = []
        for part in header.parts:
            if isinstance(part, reader.Item):
                body += self.item(part)
                continue
            title, *rest = part.split('\n\n')
            first = reader.sentences(title)[0].rstrip('.')
            if len(first) < 40:
                anchor = markup.slug(first)
                toc.append((first, anchor))
                body += f'<h2 id="{anchor}">{html.escape(first)}</h2>\n'
                title = title[len(first):].lstrip('. \n')
            body += ''.join(map(self.paragraph, filter(None, [title, *rest])))
        return body, toc


def places(folder):
    """Where the reference has each name."""
    return Reference(folder).places


def pages(folder):
    """Yields (file, title, HTML, contents, headings)."""
    made = Reference(folder)
    body = ('<h1>Functions and types</h1>\n<p>By header. The same text is '
            'installed as man pages: <code>man HG_Forward</code>, <code>man '
            'mercury.h</code>.</p>\n')
    for header in made.headers:
        name = f'api-{header.name}.html'
        about = reader.sentences(re.sub(r'\s+', ' ', header.overview))[0]
        names = [name for item in header.items for name in item.names]
        body += (f'<h2 id="{header.name}"><a href="{name}">{header.name}</a></h2>\n'
                 f'<p>{made.words(about)}</p>\n<ul class="names">\n' +
                 ''.join(f'<li><a href="{made.anchor(one)}"><code>{one}</code></a>'
                         '</li>\n' for one in names if made.index[one].header is
                         header) + '</ul>\n')
    yield ('api.html', 'Functions and types', body,
           [(header.name, header.name) for header in made.headers], [])
    for header in made.headers:
        made.headings = [(header.name, f'api-{header.name}.html')]
        text, toc = made.header(header)
        yield (f'api-{header.name}.html', header.name, text, toc, made.headings)
