// SPDX-License-Identifier: BSD-3-Clause
// The search: headings, functions, settings and man pages by their words.
const input = document.getElementById('search');
const found = document.getElementById('found');

function rank(title, words) {
    const text = title.toLowerCase();
    if (!words.every(word => text.includes(word)))
        return -1;
    return (text.startsWith(words[0]) ? 0 : 100) + title.length / 1000;
}

input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const results = words.length === 0 ? [] : INDEX
        .map(([title, address]) => [rank(title, words), title, address])
        .filter(result => result[0] >= 0)
        .sort((a, b) => a[0] - b[0]).slice(0, 12);
    found.replaceChildren(...results.map(([, title, address]) => {
        const link = document.createElement('a');
        link.href = address;
        link.textContent = title;
        const entry = document.createElement('li');
        entry.append(link);
        return entry;
    }));
    found.hidden = results.length === 0;
});
input.addEventListener('keydown', event => {
    const first = found.querySelector('a');
    if (event.key === 'Enter' && first)
        first.click();
    else if (event.key === 'Escape')
        found.hidden = true;
});
found.addEventListener('click', () => { found.hidden = true; });
document.addEventListener('keydown', event => {
    if (event.key === '/' && document.activeElement !== input) {
        event.preventDefault();
        input.focus();
    }
});
