# SPDX-License-Identifier: BSD-3-Clause
"""HTML of Markdown, and of code."""

import html
import re

from markdown_it.token import Token
from pygments import highlight as paint
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound


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
        kept.append(token)
    inline.children = kept


def render(markdown, text, address, places):
    """Returns HTML, and its headings as (level, HTML, anchor)."""
    tokens = markdown.parse(text)
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
    out = out.replace('<table>', '<div class="table"><table>')
    return out.replace('</table>', '</table></div>'), headings
