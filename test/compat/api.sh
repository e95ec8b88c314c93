#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The interface as a whole:
#
#   api.sh LIBRARY API INCLUDE_DIR TESTS   LIBRARY exports what the program API
#                                          lists, and talaria.h, mercury_hl.h
#                                          and mercury_request.h declare, and
#                                          nothing else; an object
#                                          below TESTS refers to each; a comment
#                                          precedes each declaration
#   api.sh --self-test                     each of these checks detects a fault
#
# Exit status 0, or 1 with what failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../abi/lib.sh disable=SC1091
. "$here/../abi/lib.sh"
instrument='^(__|_*gcov_|mangle_path$)'
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# The functions that a header declares, one a line.
declared() {
    awk -f "$here/../abi/flatten.awk" "$@" |
        grep -oE '^(} )?(NA|HG)_PUBLIC [^(]*\(' |
        sed 's/.*[ *]\([a-zA-Z_0-9]*\) *($/\1/'
}

# compare WHAT WANTED FOUND: files of sorted names
compare() {
    local name
    for name in $(comm -23 "$2" "$3"); do
        fail "$1: $name is missing"
    done
    for name in $(comm -13 "$2" "$3"); do
        fail "$1: $name is more than there should be"
    done
}

check_exported() {
    nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' |
        grep -vE "$instrument" | sort -u >"$tmp/exported"
    compare 'exported' "$2" "$tmp/exported"
}

# Headers declare what is listed; what a header adds of its own has our name.
check_declared() {
    declared "$2"/*.h | sort >"$tmp/declared"
    compare 'declared' "$1" "$tmp/declared"
}

# The functions that tests refer to, from their object files. Not those of compat,
# which refer to all.
check_called() {
    local name
    find "$2" -name '*.o' ! -path '*/compat/*' -exec nm -u {} + 2>/dev/null |
        awk 'NF == 2 { print $2 }' | sort -u >"$tmp/called"
    for name in $(comm -23 "$1" "$tmp/called"); do
        fail "no test calls $name"
    done
}

# Functions may share a comment: it holds up to the next empty line.
check_documented() {
    awk '
        /^[ \t]*$/ { documented = 0; next }
        /^(NA|HG)_PUBLIC / { if (!documented) print FILENAME ":" FNR ": " $0 }
        /\*\/[ \t]*$/ { documented = 1 }
        /^#/ { documented = 0 }
    ' "$@" >"$tmp/bare"
    while read -r line; do
        fail "no comment before $line"
    done <"$tmp/bare"
}

# refuses WANTED FUNCTION [ARGUMENT...]: it must fail with WANTED in its output;
# with WANTED "ok", succeed
refuses() {
    local wanted=$1
    shift
    ("$@") >"$tmp/complaints" 2>&1
    if [ "$wanted" = ok ]; then
        grep '^FAIL' "$tmp/complaints" && fail "refused: $*"
    elif ! grep -q "^FAIL: .*$wanted" "$tmp/complaints"; then
        fail "$*: not refused for '$wanted', but:"
        cat "$tmp/complaints"
    fi
}

self_test() {
    local cc=${CC:-cc}
    mkdir "$tmp/include" "$tmp/tests"
    printf '%s\n' HG_One HG_Two >"$tmp/names"
    printf '%s\n' HG_One HG_Three HG_Two >"$tmp/more"
    printf '%s\n' HG_One >"$tmp/fewer"
    printf 'int HG_One(void) { return 1; } int HG_Two(void) { return 2; }\n' |
        $cc -shared -fPIC -x c - -o "$tmp/lib.so"
    refuses ok check_exported "$tmp/lib.so" "$tmp/names"
    refuses 'HG_Three is missing' check_exported "$tmp/lib.so" "$tmp/more"
    refuses 'HG_Two is more' check_exported "$tmp/lib.so" "$tmp/fewer"

    cat >"$tmp/include/good.h" <<'END'
#define HG_PUBLIC
/* Both. */
HG_PUBLIC const char *HG_One(
    int (*function)(void));
static int two(void) { return 2; }
/* One, after a function. */
HG_PUBLIC int HG_Two(void);
/* HG_PUBLIC int HG_Three(void); */
END
    refuses ok check_declared "$tmp/names" "$tmp/include"
    refuses 'HG_Three is missing' check_declared "$tmp/more" "$tmp/include"
    refuses 'HG_Two is more' check_declared "$tmp/fewer" "$tmp/include"
    refuses ok check_documented "$tmp/include/good.h"
    printf '/* One. */\nHG_PUBLIC int HG_One(void);\n\nHG_PUBLIC int HG_Two();\n' \
        >"$tmp/bare.h"
    refuses 'no comment before .*bare.h:4' check_documented "$tmp/bare.h"

    printf 'int HG_One(void); int main(void) { return HG_One(); }\n' |
        $cc -c -x c - -o "$tmp/tests/one.o"
    refuses ok check_called "$tmp/fewer" "$tmp/tests"
    refuses 'no test calls HG_Two' check_called "$tmp/names" "$tmp/tests"
}

if [ "$#" -eq 4 ]; then
    "$2" >"$tmp/listed" || fail "$2: exit status $?"
    { cat "$tmp/listed" && declared "$3"/{talaria,mercury_hl,mercury_request}.h; } | sort >"$tmp/names"
    [ "$(wc -l <"$tmp/listed")" -ge 200 ] || fail 'the list is too short'
    check_exported "$1" "$tmp/names"
    check_declared "$tmp/names" "$3"
    check_called "$tmp/names" "$4"
    check_documented "$3"/*.h
elif [ "$*" = --self-test ]; then
    self_test
else
    fail 'usage: api.sh LIBRARY API INCLUDE_DIR TESTS | --self-test'
fi
finish api.sh
