# SPDX-License-Identifier: BSD-3-Clause
"""Reads the public headers: their declarations, each with the comment above it.

The headers are formatted by clang-format, and their comments have one form, which
this relies on: a comment that a blank line follows is the overview of the file or
the heading of a section; any other belongs to the declarations below it, up to
the next blank line.
"""

import os
import re

# What has no functions and no types for programs.
INTERNAL = {'mercury_compiler_attributes.h', 'mercury_core_types.h',
            'mercury_util_config.h'}
HELPERS = {'HG_ADDR_LOOKUP_SIXTH', 'NA_LITERAL'}
PRIVATE = 'Implementation, not for use'
FUNCTION = re.compile(r'\b(\w+)\(')
TYPE = re.compile(r'^(?:typedef )?(?:struct|enum|union) (\w+) ?\{')


class Item:
    """Declarations that share one comment."""

    def __init__(self, header, comment):
        self.header = header
        self.comment = comment
        self.functions = []  # their names
        self.macros = []  # those with arguments
        self.types = []
        self.codes = []  # constants of enums that are return codes
        self.declarations = []  # as text

    @property
    def names(self):
        return self.functions + self.macros

    @property
    def parameters(self):
        """Names of the parameters of all its functions and macros."""
        text = ' '.join(self.declarations)
        return set(re.findall(r'(\w+)(?:\[\])?\s*[,)]', text))


class Header:
    def __init__(self, name):
        self.name = name
        self.overview = ''
        self.parts = []  # in order: text of a section, or an Item

    @property
    def items(self):
        return [part for part in self.parts if isinstance(part, Item)]


def words_of(lines):
    """The text of a comment, without its frame."""
    text = '\n'.join(lines)
    text = re.sub(r'^/\*+|\*/$', '', text.strip())
    return re.sub(r'^[ \t]*\* ?', '', text, flags=re.M).strip()


def ends(lines):
    """Whether a declaration is complete with these lines."""
    text = '\n'.join(lines)
    if lines[0].startswith('#'):
        return not lines[-1].endswith('\\')
    bare = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
    if '/*' in bare or bare.count('{') != bare.count('}'):
        return False
    return bare.rstrip().endswith((';', '}'))


def add(item, text):
    """Adds one declaration to an item."""
    if text.startswith('#'):
        macro = re.match(r'#define (\w+)(\([^)]*\))?(.*)', text, re.S)
        if not macro:
            return
        if macro[2] and macro[1] not in HELPERS:
            item.macros.append(macro[1])
            item.declarations.append(
                text if '\n' not in text else '#define ' + macro[1] + macro[2])
        elif not macro[2]:
            item.declarations.append(re.sub(r'[ \t]*\\\n\s*', ' ', text))
        return
    if text.endswith('_literal;'):
        return
    if '{' in text and ('HG_INLINE' in text.split('{')[0]):
        text = re.sub(r'^static HG_INLINE (\w+)\n', r'\1 ',
                      text.split('{')[0].rstrip()) + ';'
        item.functions.append(FUNCTION.search(text)[1])
    elif re.match(r'(?:HG|NA)_PUBLIC\b', text):
        text = re.sub(r'^(?:HG|NA)_PUBLIC\s+', '', text)
        item.functions.append(FUNCTION.search(text)[1])
    else:
        kind = TYPE.match(text)
        alias = re.search(r'\b(\w+);$', text) \
            if text.startswith('typedef') else None
        pointer = re.search(r'\(\*(\w+)\)', text)
        names = [kind[1]] if kind else []
        names += [pointer[1]] if pointer else [alias[1]] if alias else []
        item.types += [name for name in names if name not in item.types]
        if kind and kind[1].endswith('_return'):
            item.codes += re.findall(r'^    (\w+)[,\n]', text, re.M)
    item.declarations.append(text)


def item_for(header, comment, line):
    """The item of a declaration that begins with a line. A macro without a
    comment belongs to the item before it, if the comment there shows its use."""
    macro = re.match(r'#define (\w+\()', line)
    if not comment and macro and header.items and \
            macro[1] in header.items[-1].comment:
        return header.items[-1]
    item = Item(header, comment or '')
    header.parts.append(item)
    return item


def read(path):
    header = Header(os.path.basename(path))
    with open(path, encoding='utf-8') as file:
        lines = iter(file.read().split('\n'))
    item, comment = None, None
    for line in lines:
        if line.startswith('/*'):
            block = [line]
            while not block[-1].rstrip().endswith('*/'):
                block.append(next(lines))
            comment = words_of(block)
            item = None
            if comment.startswith(PRIVATE):
                break
        elif not line.strip():
            if comment is not None and not comment.startswith('SPDX'):
                header.parts.append(comment)
            item, comment = None, None
        elif re.match(r'#(?!define \w+[( ])|#define \w+$|extern "C"|\}$', line):
            if re.match(r'#ifndef \w+_H$', line) and comment:
                header.overview = comment
            if re.match(r'#define \w+_H$', line) or not line.startswith('#define'):
                comment = None
                continue
        else:
            block = [line]
            while not ends(block):
                block.append(next(lines))
            if item is None:
                item = item_for(header, comment, block[0])
                comment = None
            add(item, '\n'.join(block))
    return header


def read_all(folder):
    """The public headers by name, and every name with the item it is of."""
    index = {}
    headers = [read(os.path.join(folder, name))
               for name in sorted(os.listdir(folder))
               if name.endswith('.h') and name not in INTERNAL]
    items = [item for header in headers for item in header.items]
    for item in items:
        index.update(dict.fromkeys(item.names, item))
    for item in items:
        for name in item.types:  # a struct may have the name of a function
            index.setdefault(name, item)
    return headers, index


class Text:
    """A comment of a function, taken apart."""

    def __init__(self):
        self.description = []  # paragraphs
        self.parameters = []  # (names, text)
        self.returned = []  # sentences
        self.errors = []  # (codes, text)
        self.any_thread = False


def sentences(text):
    return re.split(r'(?<=[.])\s+(?=["*A-Z]|[a-z]+_)', text)


def take_errors(text, sentence, codes):
    """One sentence that begins with a code: "CODE: why; CODE: why.\""""
    for clause in re.split(rf'; (?=(?:or )?{codes}\b)', sentence.rstrip('.')):
        clause = re.sub(r'^or ', '', clause)
        found = re.match(rf'((?:{codes}(?:, |,? and )?)+)([^:.;]*): (.*)', clause,
                         re.S)
        if found:
            where = found[2].strip(' ,')
            text.errors.append((found[1].strip(', '), (where + ': ' if where else '') +
                                found[3]))
            continue
        found = re.match(rf'((?:{codes}(?:, )?)+)[, ]*(.*)', clause, re.S)
        text.errors.append((found[1].strip(', '), found[2]))


def take_sentences(text, paragraph, codes):
    """Sorts the sentences of a paragraph that are of no parameter."""
    kept = []
    success = re.compile(r'(?:HG|NA)_SUCCESS\b')
    for sentence in sentences(paragraph):
        listed = re.match(r'Returns:? (HG_SUCCESS[.;,]|as \w)', sentence)
        if listed:
            first, _, rest = sentence.partition('; ')
            text.returned.append(first.rstrip('.') + '.')
            if re.match(codes, rest):
                take_errors(text, rest, codes)
            elif rest:
                text.returned.append(rest)
        elif sentence.startswith('Returns') or success.match(sentence):
            text.returned.append(sentence)
        elif re.match(rf'{codes}(?=[:;,. ])', sentence):
            take_errors(text, sentence, codes)
        elif sentence:
            kept.append(sentence)
    if kept:
        text.description.append(' '.join(kept))


def take_apart(item, codes):
    """The Text of an item's comment. codes: names of return codes."""
    text = Text()
    short = sorted((re.sub('^(HG|NA)_', '', code) for code in codes), key=len,
                   reverse=True)
    code = r'(?:(?:HG|NA)_)?(?:' + '|'.join(
        name for name in short if name != 'SUCCESS') + r')\b'
    comment = item.comment
    text.any_thread = '[any thread]' in comment
    comment = comment.replace('[any thread]', '').rstrip()
    names = '|'.join(map(re.escape, sorted(item.parameters))) or '$^'
    entry = re.compile(rf'(?:^|(?<=\. ))((?:{names})(?:, (?:{names}))*): ')
    for paragraph in re.split(r'\n\s*\n', comment):
        if re.match(r'- |MERCURY_\w+\(', paragraph) or re.match(r'[^\n]*\n  ', paragraph) and \
                not any(entry.match(line) for line in paragraph.split('\n')):
            text.description.append(paragraph)  # a list, or code
            continue
        whole = bool(entry.match(paragraph))
        rest, current = [], None
        for line in paragraph.split('\n'):
            at = 0
            for found in entry.finditer(line):
                if current is not None:
                    current.append(line[at:found.start()])
                else:
                    rest.append(line[at:found.start()])
                current, at = [], found.end()
                text.parameters.append((found[1], current))
            piece = line[at:]
            if current is not None and not at and not line.startswith(' ') and \
                    (not whole or line.startswith('Returns')) and \
                    ''.join(current).rstrip().endswith('.'):
                current = None
            (rest if current is None else current).append(piece.strip())
        take_sentences(text, ' '.join(filter(None, map(str.strip, rest))), code)
    settle(text, code)
    # talaria.h names codes without the prefix.
    prefix = 'HG_' if item.declarations[0].startswith('hg_') else 'NA_'
    text.errors = [(', '.join(name if name in codes else prefix + name
                              for name in names.replace(' and', ',').split(', ')),
                    why[:1].upper() + why[1:]) for names, why in text.errors]
    return text


def settle(text, code):
    """Errors at the end of a parameter's text are errors of the function."""
    parameters, text.parameters = text.parameters, []
    for names, pieces in parameters:
        words = ' '.join(filter(None, map(str.strip, pieces)))
        kept = []
        for sentence in sentences(words):
            if kept and re.match(rf'{code}[:;,. ]', sentence):
                take_errors(text, sentence, code)
            else:
                kept.append(sentence)
        text.parameters.append((names, ' '.join(kept)))


def overview_of(header):
    """Its paragraphs, of which some lines begin with "Topic: "."""
    found = []
    for text in re.split(r'\n\s*\n|\n(?=[A-Z][a-z]+(?: [a-z]+)?: )',
                         header.overview):
        if text.startswith('  ') and found and found[-1].startswith('  '):
            found[-1] += '\n\n' + text  # code with an empty line
        else:
            found.append(text)
    return found


def paragraphs(item):
    """Those of a comment of types or constants, of which some lines may begin
    with "NAME: "."""
    return [text for text in
            re.split(r'\n\s*\n|\n(?=[A-Z][A-Z0-9_]+: )', item.comment) if text]


def codes_of(headers):
    return [code for header in headers for item in header.items
            for code in item.codes]


def summary(item, text):
    """One line on what an item is for."""
    about = [words for words in text.description
             if not re.match(r'\w+\(|- ', words)]
    about = text.returned + about if item.comment.startswith('Returns') \
        else about + text.returned
    if not about:
        raise ValueError(f'{item.header.name}: no comment at {item.names}')
    first = sentences(re.sub(r'\s+', ' ', about[0]))[0]
    first = re.sub(r'(: \*.*)?\.$', '', first).replace('`', '')
    capital = re.match(r'[A-Z][a-z]+\b(?![_(])|A ', first)
    return first[0].lower() + first[1:] if capital else first
