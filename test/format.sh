#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every C and C++ file of the tree is formatted as .clang-format defines:
#
#   format.sh [FILE...]
#
# Exit status 0, 1 with the differences, or 77 without clang-format 14: other
# versions break lines in other places.
set -u
cd "$(dirname "$0")/.." || exit 1

tool=
for candidate in clang-format-14 clang-format; do
    if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then
        tool=$candidate
        break
    fi
done
if [ -z "$tool" ]; then
    echo 'skipped: no clang-format 14'
    exit 77
fi

if [ $# -eq 0 ]; then
    mapfile -t files < <(find . -name build -prune -o \
        \( -name '*.c' -o -name '*.h' -o -name '*.cc' \) -print | sort)
    set -- "${files[@]}"
fi
if [ $# -eq 0 ]; then
    echo 'FAIL no source file found'
    exit 1
fi

if "$tool" --dry-run -Werror "$@" 2>/dev/null; then
    echo "$# files"
    exit 0
fi
for file; do
    if ! "$tool" "$file" | cmp -s - "$file"; then
        echo "FAIL $file"
        "$tool" "$file" | diff -U 0 --label "$file" --label wanted "$file" - |
            sed -n '3,12s/^/    /p'
    fi
done
echo "$tool -i puts that right"
exit 1
