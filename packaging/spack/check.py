#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether the recipe agrees with the Meson files: version, options, variants, and
the least versions of dependencies.

    check.py SOURCE_ROOT     exit status 0, or 1 with what differs
"""

import ast
import os
import re
import sys

RECIPE = 'packaging/spack/spack_repo/talaria/packages/talaria/package.py'
# What a least version is compared with: the recipe's name, the file, the text.
LEAST = {'meson': ('meson.build', r"meson_version: '>= ([\d.]+)'"),
         'libfabric': ('plugins/ofi/meson.build',
                       r"'libfabric', version: '>= ([\d.]+)'"),
         'ucx': ('plugins/ucx/meson.build', r"'ucx', version: '>= ([\d.]+)'")}


def read(root, path):
    with open(os.path.join(root, path), encoding='utf-8') as file:
        return file.read()


def directives(tree):
    """Name and arguments that are text of each call in a class's body."""
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef)).body
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node.value.func.id, [argument.value for argument in node.value.args
                                       if isinstance(argument, ast.Constant)]


def differences(root):
    recipe = read(root, RECIPE)
    calls = list(directives(ast.parse(recipe)))
    project = re.search(r"^  version: '(.*)'", read(root, 'meson.build'), re.M)[1]
    versions = [arguments[0] for name, arguments in calls if name == 'version']
    if project not in versions:
        yield f'version {project} is not among {versions}'

    known = set(re.findall(r"^option\('(\w+)'", read(root, 'meson_options.txt'), re.M))
    known |= set(re.findall(r"^option\('(\w+)'",
                            read(root, 'subprojects/na-mpi/meson_options.txt'), re.M))
    known |= {'prefix', 'libdir', 'buildtype', 'pkg_config_path'}
    for option in re.findall(r'"-D(\w+)=', recipe):
        if option not in known:
            yield f'-D{option}: Meson has no such option'

    variants = {arguments[0] for name, arguments in calls if name == 'variant'}
    for variant in re.findall(r'feature\("(\w+)"\)', recipe) + \
            re.findall(r'"[+~](\w+)"', recipe):
        if variant not in variants:
            yield f'no variant {variant}'

    least = dict(re.findall(r'depends_on\("(\w+)@([\d.]+):', recipe))
    for package, (path, pattern) in LEAST.items():
        wanted = re.search(pattern, read(root, path))[1]
        if least.get(package) != wanted:
            yield f'{package}: {least.get(package)} here, {wanted} in {path}'


def main():
    found = list(differences(sys.argv[1]))
    for difference in found:
        print(f'{RECIPE}: {difference}')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
