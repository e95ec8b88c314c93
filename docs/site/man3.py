#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes man pages of section 3 from the comments of the public headers:

  man3.py HEADERS VERSION TARGET_DIR

One page for the declarations that share a comment, under the name of the first
function; the other names are links to it. And one page for each header, such as
mercury.h(3), with its overview, its types and the list of its functions, to which
the names of its types are links.
"""

import os
import re
import sys
import textwrap

import headers as reader

DATE = '2026-11-23'
# Where the rules are that hold for every function of a header.
RULES_OF = {'mercury.h': 'mercury.h', 'mercury_bulk.h': 'mercury.h',
            'na.h': 'na.h'}


def escape(text):
    text = text.replace('\\', '\\e').replace('-', '\\-').replace('…', '...')
    text = text.replace("'", '\\(aq')
    return re.sub(r'^\.', '\\\\&.', text, flags=re.M)


def code(text):
    """Lines as they are."""
    return f'.nf\n{escape(text)}\n.fi\n'


class Writer:
    def __init__(self, folder, version, target):
        self.version = version
        self.target = target
        self.headers, self.index = reader.read_all(folder)
        self.codes = reader.codes_of(self.headers)
        self.taken = {name for header in self.headers for item in header.items
                      for name in item.names}
        self.written = set()

    def write(self, name, text):
        assert name not in self.written, name
        self.written.add(name)
        with open(os.path.join(self.target, name + '.3'), 'w',
                  encoding='utf-8') as file:
            file.write(text)

    def link(self, name, page):
        if name not in self.written:
            self.write(name, f'.so man3/{page}.3\n')

    def words(self, text):
        """Running text: names of functions in bold, parameters in italics."""
        text = escape(re.sub(r'\s+', ' ', text).strip())
        text = re.sub(r'`([^`]*)`', r'\\fI\1\\fP', text)
        # Lines of no more than a sentence keep the source readable.
        text = re.sub(r'(?<=[.]) (?=[A-Z])', '\n', text)
        return re.sub(r'\b(\w+)\b(?!\()',
                      lambda found: f'\\fB{found[1]}\\fP'
                      if found[1] in self.taken else found[1], text)

    def paragraph(self, text):
        if text.startswith('- '):
            return ''.join(f'.IP \\(bu 2\n{self.words(point)}\n'
                           for point in re.split(r'(?:^|\n)- ', text)[1:])
        constant = re.match(r'([A-Z][A-Z0-9_]+): (.*)', text, re.S)
        if constant:
            return f'.TP\n.B {constant[1]}\n{self.words(constant[2])}\n'
        if re.match(r'[^\n]*\n  ', text) or re.match(r'  ', text) or \
                re.match(r'MERCURY_\w+\(', text):
            return f'.PP\n.in +4n\n{code(textwrap.dedent(text))}.in\n'
        return f'.PP\n{self.words(text)}\n'

    def page(self, name, title, parts):
        head = (f'.\\" SPDX-License-Identifier: BSD-3-Clause\n'
                f'.\\" Generated from {title}.\n'
                f'.TH "{escape(name)}" 3 "{DATE}" "Talaria {self.version}" "Talaria"\n'
                '.nh\n.ad l\n')
        text = ''.join(f'.SH {heading}\n{body}' for heading, body in parts if body)
        self.write(name, head + re.sub(r'^(\.S[HS] .*\n)\.PP\n', r'\1', text,
                                       flags=re.M))

    def see_also(self, item, comment, more):
        names = [name for name in re.findall(r'\b\w+\b', comment)
                 if name in self.taken and name not in item.names]
        pages = sorted(set(names)) + more
        return ',\n'.join(f'.BR {escape(name)} (3)' for name in pages) + '\n'

    def item(self, item):
        text = reader.take_apart(item, self.codes)
        name, header = item.names[0], item.header.name
        declared = [declaration for declaration in item.declarations
                    if not declaration.startswith('#define')
                    or '(' in declaration.split('\n')[0]]
        synopsis = code(f'#include <{header}>\n\n' + '\n'.join(declared))
        synopsis += ('.PP\n.nf\n' + escape('cc … `pkg\\-config --cflags --libs '
                                           'talaria`').replace('\\e\\-', '\\-')
                     + '\n.fi\n')
        operation = any(re.search(r'\b(An|as an) operation\b', words)
                        for words in text.description)
        returned = ''.join(self.paragraph(words) for words in text.returned)
        if re.match(r'[hn][ga]_return_t\b', declared[0]):
            prefix = declared[0][:2].upper()
            if operation:
                returned = self.paragraph(
                    f'{prefix}_SUCCESS: the operation was accepted, and its '
                    'callback runs exactly once. Any other code: nothing was '
                    'started, and the callback never runs.') + returned
            elif f'{prefix}_SUCCESS' not in ''.join(text.returned):
                returned = self.paragraph(
                    f'{prefix}_SUCCESS, or a code that says why not.') + returned
        errors = ''.join(
            f'.TP\n.B {escape(codes)}\n'
            f'{self.words(why.rstrip(".") + "." if why else self.meaning(codes))}\n'
            for codes, why in text.errors)
        rules = RULES_OF.get(header)
        notes = ''
        if text.any_thread:
            notes = self.paragraph('Any thread may call it, at any time.')
        if rules:
            notes += ('.PP\nThe rules on threads, blocking, ownership and '
                      f'operations are in\n.BR {rules} (3).\n')
        about = ''.join(map(self.paragraph, text.description)) or \
            ''.join(map(self.paragraph, text.returned))
        self.page(name, header, (
            ('NAME', ',\n'.join(map(escape, item.names)) + ' \\- ' +
             escape(reader.summary(item, text)) + '\n'),
            ('SYNOPSIS', synopsis),
            ('DESCRIPTION', about),
            ('PARAMETERS', ''.join(
                f'.TP\n.I {escape(names)}\n{self.words(words[:1].upper() + words[1:])}\n'
                for names, words in text.parameters)),
            ('RETURN VALUE', returned),
            ('ERRORS', errors),
            ('NOTES', notes),
            ('SEE ALSO', self.see_also(item, item.comment, [header]))))
        for other in item.names[1:]:
            self.link(other, name)

    def meaning(self, codes):
        """What codes mean, as their enum has it."""
        enums = self.index['na_return_t'].declarations[0] + \
            self.index['hg_return_t'].declarations[0]
        meanings = [re.search(rf'\b{code},? +/\* (.*?) \*/', enums)[1]
                    for code in codes.split(', ')]
        return ' '.join(words[:1].upper() + words[1:] + '.' for words in meanings)

    def header(self, header):
        overview = ''.join(map(self.paragraph, reader.overview_of(header)))
        functions, types = '', ''
        for part in header.parts:
            if isinstance(part, str):
                first, *rest = part.split('\n\n')
                functions += f'.SS "{escape(first)}"\n' if len(first) < 40 else \
                    self.paragraph(first)
                functions += ''.join(map(self.paragraph, rest))
            elif part.names:
                about = reader.summary(part, reader.take_apart(part, self.codes))
                functions += (f'.TP\n.BR {escape(part.names[0])} (3)\n'
                              f'{self.words(about)}\n')
            else:
                types += ''.join(map(self.paragraph, reader.paragraphs(part)))
                types += '.PP\n' + code('\n'.join(part.declarations))
        title = reader.sentences(re.sub(r'\s+', ' ', header.overview))[0]
        title = title[0].lower() + title[1:].rstrip('.')
        self.page(header.name, header.name, (
            ('NAME', f'{header.name} \\- {escape(title)}\n'),
            ('SYNOPSIS', code(f'#include <{header.name}>')),
            ('DESCRIPTION', overview),
            ('FUNCTIONS', functions if 'TP' in functions else ''),
            ('TYPES AND CONSTANTS', types),
            ('SEE ALSO', '.BR mercury.h (3),\n.BR na.h (3),\n.BR talaria.h (3),\n'
             '.BR talaria (1),\n.BR talaria\\-plugins (7)\n')))

    def all(self):
        os.makedirs(self.target, exist_ok=True)
        for name in os.listdir(self.target):
            os.unlink(os.path.join(self.target, name))
        for header in self.headers:
            for item in header.items:
                if item.names:
                    self.item(item)
        for header in self.headers:
            self.header(header)
        for header in self.headers:
            for item in header.items:
                for name in item.types:
                    if name not in self.taken:
                        self.link(name, header.name)
        return len(self.written)


if __name__ == '__main__':
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    Writer(*sys.argv[1:]).all()
