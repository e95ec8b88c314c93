#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs clang-tidy on the shipped code, with the rules of .clang-tidy:
#
#   lint.sh BUILD_DIR [FILE...]
#
# BUILD_DIR: a build by Meson with clang, which has the command that compiles each
# file, and the generated files. The analyzer gives up on a function early, unless
# TALARIA_TEST_SOAK is 1: then it has clang's own limit, and takes several times as
# long. Exit status 0, 1 with the findings, or 77 without clang-tidy 14: other
# versions have other checks.
set -u
nodes=30000
[ "${TALARIA_TEST_SOAK-}" != 1 ] || nodes=225000 # clang's own

if [ $# -lt 1 ] || [ ! -f "$1/compile_commands.json" ]; then
    echo 'usage: lint.sh BUILD_DIR [FILE...]' >&2
    exit 1
fi
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
shift

tool=
for candidate in clang-tidy-14 clang-tidy; do
    if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then
        tool=$candidate
        break
    fi
done
if [ -z "$tool" ]; then
    echo 'skipped: no clang-tidy 14'
    exit 77
fi

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# Each file is checked once, even if several targets compile it. One process per
# file: with several files in one, version 14 reports every va_list after the first
# file as uninitialized.
python3 - "$build" "$root" "$tmp" >"$tmp/files" <<'END' || exit 1
import json, os, sys

build, root, tmp = sys.argv[1:]
shipped = tuple(os.path.join(root, room, '')
                for room in ('abi', 'core', 'plugins', 'tools'))
once = {}
for entry in json.load(open(os.path.join(build, 'compile_commands.json'))):
    path = os.path.normpath(os.path.join(entry['directory'], entry['file']))
    if path.startswith(shipped):
        once.setdefault(path, dict(entry, file=path))
json.dump(list(once.values()),
          open(os.path.join(tmp, 'compile_commands.json'), 'w'))
print('\n'.join(sorted(once)))
END
if [ $# -gt 0 ]; then
    for file; do
        realpath "$file"
    done >"$tmp/files"
fi
if [ ! -s "$tmp/files" ]; then
    echo 'FAIL no source file found'
    exit 1
fi

check() {
    "$1" --quiet -p "$2" --config-file="$3" --extra-arg=-Xclang \
        --extra-arg=-analyzer-config --extra-arg=-Xclang \
        --extra-arg=max-nodes="$4" "$5" >"$2/${5//\//_}.out" 2>&1 ||
        printf '%s\n' "${5//\//_}" >>"$2/failed"
}
export -f check
xargs -d '\n' -P "$(nproc)" -n 1 bash -c 'check "$@"' check \
    "$tool" "$tmp" "$root/.clang-tidy" "$nodes" <"$tmp/files"

if [ -s "$tmp/failed" ]; then
    sort "$tmp/failed" | while read -r name; do
        grep -vE '^[0-9]+ (warning|error)s?.* generated\.$' "$tmp/$name.out"
    done | sed "s#[^ ]*/\.\./##; s#$root/##" >"$tmp/all"
    cat "$tmp/all"
    echo
    grep -E '^[^ ]+: (warning|error): ' "$tmp/all" | sort -u
    echo "$(wc -l <"$tmp/failed") of $(wc -l <"$tmp/files") files"
    exit 1
fi
echo "$(wc -l <"$tmp/files") files"
