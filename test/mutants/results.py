# SPDX-License-Identifier: BSD-3-Clause
"""Results of the mutants, one line of JSON each, from which an interrupted run
continues.

    mutant   GROUP/NAME
    patch    digest of the patch
    tree     digest of the sources without the folder of the mutants
    verdict  caught, survived; or why there is no verdict: unbuilt, unapplied,
             control (its test does not pass without it, or is not run here)
    by       each test that was run, and how it ended: passed, skipped, failed
             (a check), crashed, sanitizer, timeout
    seconds  the duration
"""

import hashlib
import json
import os

JUDGED = ('caught', 'survived')


def digest_of_file(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


def digest_of_tree(source, names):
    """names: the files below source that are built or run."""
    digest = hashlib.sha256()
    for name in sorted(names):
        if not name.startswith(os.path.join('test', 'mutants', '')):
            digest.update(os.fsencode(name) + b'\0')
            digest.update(digest_of_file(os.path.join(source, name)).encode())
    return digest.hexdigest()[:16]


class Results:
    """The lines of the file about this tree; none without a file."""

    def __init__(self, path, tree):
        self.path, self.tree = path, tree
        self.judged = {}
        if path and os.path.exists(path):
            with open(path, encoding='utf-8') as file:
                for line in file:
                    found = json.loads(line)
                    if found['tree'] == tree and found['verdict'] in JUDGED:
                        key = found['mutant'], found['patch']
                        self.judged[key] = found

    def of(self, mutant):
        """Its result in the file, or None."""
        return self.judged.get((mutant.name, mutant.digest))

    def add(self, mutant, verdict, by, seconds):
        if self.path:
            line = {'mutant': mutant.name, 'patch': mutant.digest,
                    'tree': self.tree, 'verdict': verdict, 'by': by,
                    'seconds': round(seconds, 1)}
            with open(self.path, 'a', encoding='utf-8') as file:
                file.write(json.dumps(line) + '\n')
