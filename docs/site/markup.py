# SPDX-License-Identifier: BSD-3-Clause
"""HTML of Markdown, and of code."""

import html
import re

from markdown_it.token import Token
from pygments import highlight as paint
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound


WHOLE = 30  # characters: code of a text that is not broken into lines
LONG = 40  # characters: a cell that is too long for a column of a phone


def slug(heading):
    """The anchor of a heading, as code hosts make it."""
    plain = re.sub(r'[`*]|\[|\]\([^)]*\)', '', heading).lower()
    return re.sub(r'[^\w -]', '', plain).replace(' ', '-')


def highlight(code, language):
    """language: its name, or the name of a file."""
    try:
        lexer = get_lexer_for_filename(language) if '.' in language \
            else get_lexer_by_name(language)
    except ClassNotFound:
        return f'<pre><code>{html.escape(code)}</code></pre>\n'
    return '<pre><code>' + paint(code, lexer, HtmlFormatter(nowrap=True)) + \
        '</code></pre>\n'


def rewrite(inline, address, places):
    """Links and pictures of a line. A link that leads nowhere is its text; code
    that is a name of the reference leads there."""
    kept, dropped, linked = [], 0, False
    for token in inline.children:
        linked = token.type == 'link_open' or \
            linked and token.type != 'link_close'
        place = places.get(token.content) if token.type == 'code_inline' else None
        if token.type == 'code_inline' and len(token.content) <= WHOLE:
            token.attrs['class'] = 'whole'
        if place and not linked:
            kept += [Token('link_open', 'a', 1, attrs={'href': place}), token,
                     Token('link_close', 'a', -1)]
            continue
        if token.type == 'link_open':
            there = address(token.attrs['href'])
            if there is None:
                dropped += 1
                continue
            token.attrs['href'] = there
        elif token.type == 'link_close' and dropped:
            dropped -= 1
            continue
        elif token.type == 'image':
            token.attrs['src'] = address(token.attrs['src'])
            token.attrs['loading'] = 'lazy'
            if not linked:  # to the picture in its full size
                kept += [Token('link_open', 'a', 1,
                               attrs={'href': token.attrs['src']}), token,
                         Token('link_close', 'a', -1)]
                continue
        kept.append(token)
    inline.children = kept


def label_cells(tokens):
    """Cells of a table of at least three columns with a long text get the heading
    of their column, for narrow screens, where each row becomes a block. Not if a
    row continues the one above it."""
    starts = [i for i, token in enumerate(tokens) if token.type == 'table_open']
    for start in starts:
        end = next(i for i in range(start, len(tokens))
                   if tokens[i].type == 'table_close')
        cells = [i for i in range(start, end)
                 if tokens[i].type in ('th_open', 'td_open')]
        texts = [plain(tokens[i + 1]) for i in cells]
        columns = [text for i, text in zip(cells, texts)
                   if tokens[i].type == 'th_open']
        if len(columns) < 3 or max(map(len, texts)) < LONG or \
                not all(texts[len(columns)::len(columns)]):
            continue
        tokens[start].attrs['class'] = 'rows'
        for at, i in enumerate(cells[len(columns):]):
            tokens[i].attrs['data-column'] = columns[at % len(columns)]


def plain(inline):
    return ''.join(child.content for child in inline.children)


def render(markdown, text, address, places):
    """Returns HTML, and its headings as (level, HTML, anchor)."""
    tokens = markdown.parse(text)
    label_cells(tokens)
    headings, used, out = [], {}, ''
    renderer, options = markdown.renderer, markdown.options
    for i, token in enumerate(tokens):
        if token.type == 'inline':
            rewrite(token, address, {} if tokens[i - 1].type == 'heading_open'
                    else places)
        if token.type == 'heading_open':
            anchor = slug(tokens[i + 1].content)
            count = used.get(anchor, 0)
            used[anchor] = count + 1
            anchor += f'-{count}' if count else ''
            token.attrs['id'] = anchor
            rewritten = [child for child in tokens[i + 1].children
                         if not child.type.startswith('link_')]
            headings.append((int(token.tag[1]), renderer.renderInline(
                rewritten, options, {}), anchor))
    start = 0
    for i, token in enumerate(tokens):
        if token.type == 'fence':
            out += renderer.render(tokens[start:i], options, {})
            out += highlight(token.content, token.info.strip() or 'text')
            start = i + 1
    out += renderer.render(tokens[start:], options, {})
    out = re.sub('<table( class="rows")?>', r'<div class="table"><table\1>', out)
    return out.replace('</table>', '</table></div>'), headings
