#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The util headers and their library:
#
#   util.sh INCLUDE_DIR UTIL_DIR LIBTALARIA LIBTALARIA_UTIL
#
# Each header compiles by itself, without a warning, in C and C++; so does a program
# that uses every function, and it works; the library exports what the headers
# declare, and needs only the C library. CC and CXX: lists of compilers, of which
# the installed ones are used. Exit status 0, or 1
# with what failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../abi/lib.sh disable=SC1091
. "$here/../abi/lib.sh"

if [ $# -ne 4 ] || [ ! -f "$2/mercury_atomic.h" ]; then
    fail 'usage: util.sh INCLUDE_DIR UTIL_DIR LIBTALARIA LIBTALARIA_UTIL'
    finish util.sh
fi
include_dir=$1 util_dir=$2 core=$3 util=$4
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
instrument='^(__|_*gcov_|mangle_path$)'
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# quiet WHAT COMMAND...: its output is shown if it fails.
quiet() {
    local what=$1
    shift
    "$@" >"$tmp/output" 2>&1 && return
    fail "$what"
    sed 's/^/    /' "$tmp/output"
    return 1
}

# try LANGUAGE SOURCE MODE... -- COMPILER...: the program is run once per compiler.
# shellcheck disable=SC2086
try() {
    local language=$1 source=$2 compiler mode header found=0
    local modes=()
    shift 2
    while [ "$1" != -- ]; do
        modes+=("$1")
        shift
    done
    shift
    for compiler; do
        have "$compiler" || continue
        found=$((found + 1))
        for mode in "${modes[@]}"; do
            for header in "$util_dir"/*.h; do
                quiet "${header##*/}, $compiler $mode" "$compiler" $mode \
                    $warnings -I"$include_dir" -I"$util_dir" -fsyntax-only \
                    -x "$language" - <<<"#include \"${header##*/}\""
            done
            quiet "$source, $compiler $mode" "$compiler" $mode -Wall -Wextra \
                -Werror -I"$include_dir" -I"$util_dir" "$here/$source" \
                -o "$tmp/program" "$core" "$util" -pthread \
                -Wl,-rpath,"${core%/*}:${util%/*}" || return
        done
        quiet "the program of $compiler" timeout 60 "$tmp/program"
    done
    [ "$found" -gt 0 ] || fail "no compiler for $language"
}

check_exported() {
    local name
    awk -f "$here/../abi/flatten.awk" "$util_dir"/*.h |
        grep -oE '^(} )?HG_UTIL_PUBLIC [^(]*\(' |
        sed 's/.*[ *]\([a-zA-Z_0-9]*\) *($/\1/' >"$tmp/functions"
    awk -f "$here/../abi/flatten.awk" "$util_dir"/*.h |
        sed -n 's/^extern HG_UTIL_PUBLIC [^(]* \([a-zA-Z_0-9]*\);$/\1/p' |
        sort - "$tmp/functions" >"$tmp/declared"
    nm -D --defined-only "$util" | awk '$2 != "A" { print $3 }' |
        grep -vE "$instrument" | sort >"$tmp/exported"
    [ "$(wc -l <"$tmp/declared")" -ge 40 ] || fail 'too few declarations'
    for name in $(comm -3 "$tmp/declared" "$tmp/exported"); do
        fail "$name is declared and not exported, or exported and not declared"
    done
    for name in $(LC_ALL=C readelf -d "$util" |
        sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
        [[ $name =~ ^(libc|libpthread|ld-linux)|san ]] ||
            fail "the library needs $name"
    done
}

# shellcheck disable=SC2086
try c use_util.c -std=gnu99 -std=gnu17 '-std=c11 -D_GNU_SOURCE' -- ${CC:-gcc clang}
# shellcheck disable=SC2086
try c++ use_util.cc -std=c++11 -std=c++20 -- ${CXX:-g++ clang++}
# shellcheck disable=SC2086
try c use_outlets.c -std=gnu99 -std=gnu17 -- ${CC:-gcc clang}
# shellcheck disable=SC2086
try c++ use_outlets.cc -std=c++11 -std=c++20 -- ${CXX:-g++ clang++}
check_exported
finish util.sh
