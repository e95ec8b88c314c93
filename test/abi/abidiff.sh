#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Reports what has changed in libtalaria.so and each plugin since the last
# release, by abidiff of the package abigail-tools:
#
#   abidiff.sh BUILD_DIR [REVISION | OLD_BUILD_DIR]
#
# BUILD_DIR: the current build, with debug information. REVISION: the revision to
# compare with, built in a temporary folder; by default the newest tag v*. It is
# for readers and no gate: layout.sh checks what must not change, and abidiff does
# not follow the pointers in a plugin's tables. Exit status 0, also if it reports
# changes; 1 if it cannot; 77 without abidiff or without a release.
set -u
if [ $# -lt 1 ] || [ ! -d "$1" ]; then
    echo 'usage: abidiff.sh BUILD_DIR [REVISION | OLD_BUILD_DIR]' >&2
    exit 1
fi
build=$(cd "$1" && pwd)
old=
[ ! -d "${2-}" ] || old=$(cd "$2" && pwd)
cd "$(dirname "$0")/../.." || exit 1
if ! command -v abidiff >/dev/null; then
    echo 'skipped: no abidiff (package abigail-tools)'
    exit 77
fi
revision=${2-$(git tag --list 'v*' --sort=-version:refname 2>/dev/null | head -n 1)}
if [ -z "$revision" ]; then
    echo 'skipped: no release yet (a tag v*)'
    exit 77
fi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

fail() {
    echo "FAIL $*"
    tail -n 40 "$tmp/log"
    exit 1
}

objects=(core/libtalaria.so)
for name in sm ofi ucx; do
    [ ! -f "$build/plugins/$name/libna_$name.so" ] ||
        objects+=("plugins/$name/libna_$name.so")
done
if [ -z "$old" ]; then
    old=$tmp/build
    mkdir "$tmp/source"
    git archive "$revision" 2>"$tmp/log" | tar -x -C "$tmp/source" ||
        fail "no $revision"
    meson setup "$old" "$tmp/source" -Dtests=false >"$tmp/log" 2>&1 ||
        fail "meson setup, $revision"
    ninja -C "$old" "${objects[@]}" >"$tmp/log" 2>&1 || fail "ninja, $revision"
fi

echo "Changes since $revision:"
for object in "${objects[@]}"; do
    printf '\n%s\n' "$object"
    if [ ! -f "$old/$object" ]; then
        echo 'is new'
        continue
    fi
    # Types of public headers only. The two lowest bits of the status are
    # errors, the next ones the kinds of changes.
    abidiff --headers-dir1 abi --headers-dir1 core/include --headers-dir2 abi \
        --headers-dir2 core/include "$old/$object" "$build/$object" 2>"$tmp/log"
    [ $(($? & 3)) -eq 0 ] || fail "abidiff $object"
done
