// SPDX-License-Identifier: BSD-3-Clause
// The search: sections, functions, settings and man pages, by the words of their
// titles and then of their texts.
const input = document.getElementById('search');
const found = document.getElementById('found');

// Lower is better, then the order of the menu; -1: a word is missing.
function rank(title, text, words) {
    const heading = title.toLowerCase();
    const missing = words.filter(word => !heading.includes(word));
    if (missing.length > 0) {
        const rest = text.toLowerCase();
        return missing.every(word => rest.includes(word))
            ? 200 + 100 * missing.length : -1;
    }
    return (heading.startsWith(words[0]) ? 0 : 100) + title.length / 1000;
}

// The text around the first word that the title lacks.
function excerpt(title, text, words) {
    const missing = words.find(word => !title.toLowerCase().includes(word));
    if (!missing)
        return null;
    const at = text.toLowerCase().indexOf(missing);
    const line = document.createElement('small');
    const word = document.createElement('mark');
    const from = text.lastIndexOf(' ', Math.max(at - 30, 0)) + 1;
    const end = at + missing.length;
    const to = text.indexOf(' ', end + 45);
    word.textContent = text.slice(at, end);
    line.append((from > 0 ? '… ' : '') + text.slice(from, at), word,
        to < 0 ? text.slice(end) : text.slice(end, to) + ' …');
    return line;
}

function entry([, title, address, text], words) {
    const item = document.createElement('li');
    const link = document.createElement('a');
    link.href = address;
    link.append(title, excerpt(title, text, words) ?? '');
    item.append(link);
    return item;
}

function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (typeof INDEX === 'undefined' || words.length === 0) {
        found.hidden = true;
        return;
    }
    const results = INDEX
        .map(([title, address, text]) =>
            [rank(title, text, words), title, address, text])
        .filter(result => result[0] >= 0)
        .sort((a, b) => a[0] - b[0]).slice(0, 12);
    found.replaceChildren(...results.map(result => entry(result, words)));
    if (results.length === 0)
        found.innerHTML = '<li>Nothing found</li>';
    found.hidden = false;
}

// The index is large: only who searches loads it.
input.addEventListener('focus', () => {
    const script = document.createElement('script');
    script.src = 'search-index.js';
    script.addEventListener('load', show);
    document.head.append(script);
}, {once: true});
input.addEventListener('input', show);
input.addEventListener('focus', show);

// Moves among the results.
function move(event) {
    const links = [...found.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    if (event.key === 'Escape') {
        input.focus();
        found.hidden = true;
    } else if (event.key === 'Enter' && at < 0 && links.length > 0) {
        links[0].click();
    } else if (event.key === 'ArrowDown' && at + 1 < links.length) {
        links[at + 1].focus();
        event.preventDefault();
    } else if (event.key === 'ArrowUp' && at >= 0) {
        (links[at - 1] ?? input).focus();
        event.preventDefault();
    }
}
input.parentElement.addEventListener('keydown', move);
found.addEventListener('click', () => { found.hidden = true; });
document.addEventListener('click', event => {
    if (!input.parentElement.contains(event.target))
        found.hidden = true;
});
document.addEventListener('keydown', event => {
    if (event.key === '/' && document.activeElement !== input) {
        event.preventDefault();
        input.focus();
    }
});
document.querySelector('nav [aria-current]')?.scrollIntoView({block: 'nearest'});
