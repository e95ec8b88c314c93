#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The man page of the ABI agrees with the header, and its example works:
#
#   page.sh TALARIA ROOT
#
# The rules in the page, in abi/README.md and those that the header cites have
# the same numbers. Each macro and entry that the page names is in the header.
# The example compiles without a warning in C and C++, gets a manifest, is
# listed, and its error is what the user sees. Exit status 0, or 1 with what
# failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh disable=SC1091
. "$here/lib.sh"

if [ $# -ne 2 ] || [ ! -f "$2/tools/man/na_plugin.7" ]; then
    echo 'usage: page.sh TALARIA ROOT' >&2
    exit 1
fi
talaria=$1 page=$2/tools/man/na_plugin.7 header=$2/abi/na_plugin.h
rules=$2/abi/README.md
tmp=$(realpath "$(mktemp -d)") || exit 1
trap 'rm -rf "$tmp"' EXIT
unset "${!TALARIA_@}" "${!HG_@}" 2>/dev/null

check_rules() {
    sed -n 's/^\.IP \[\([0-9]*\)\].*/\1/p' "$page" >"$tmp/page"
    sed -n 's/^\([0-9]*\)\. \*\*.*/\1/p' "$rules" >"$tmp/rules"
    grep -o '\[[0-9]*\]' "$header" | tr -d '[]' | sort -un >"$tmp/cited"
    [ "$(wc -l <"$tmp/page")" -ge 15 ] || fail 'the page has too few rules'
    diff "$tmp/rules" "$tmp/page" || fail 'rules of README.md (<), of the page (>)'
    while read -r number; do
        grep -qx "$number" "$tmp/page" ||
            fail "the header cites rule $number, which the page lacks"
    done <"$tmp/cited"
}

# Words of the page with a prefix of the header's names, and those in italics
# with an underscore, which are entries and members.
check_names() {
    {
        grep -o 'NA_PLUGIN_[A-Z_0-9]*[A-Z0-9]' "$page"
        sed -n 's/^\.IR* \([a-z]*_[a-z_]*\).*/\1/p' "$page"
    } | sort -u >"$tmp/names"
    [ "$(wc -l <"$tmp/names")" -ge 20 ] || fail 'the page names too little'
    while read -r name; do
        grep -qw "$name" "$header" || fail "the header has no $name"
    done <"$tmp/names"
}

check_example() {
    sed -n '/^\.\\" example begins/,/^\.\\" example ends/p' "$page" |
        sed '/^\.\\"/d; s/\\-/-/g' >"$tmp/demo.c"
    ! have clang || clang -std=c99 -Wall -Wextra -Werror -I"${header%/*}" \
        -c -o "$tmp/demo.o" "$tmp/demo.c" || fail 'clang'
    if ! gcc -std=c99 -Wall -Wextra -Werror -fPIC -shared -I"${header%/*}" \
        "$tmp/demo.c" -o "$tmp/libna_demo.so"; then
        fail 'the example does not compile'
        return
    fi
    "$talaria" manifest "$tmp/libna_demo.so" -o "$tmp/libna_demo.json" ||
        fail 'no manifest'
    TALARIA_PLUGIN_PATH=$tmp "$talaria" info >"$tmp/output" 2>&1 ||
        fail 'talaria info'
    grep -q '^demo ' "$tmp/output" || { fail 'not listed'; cat "$tmp/output"; }
    if TALARIA_PLUGIN_PATH=$tmp "$talaria" info demo+demo >"$tmp/output" 2>&1; then
        fail 'a class was opened'
    fi
    grep -q 'the demo has no device' "$tmp/output" ||
        { fail 'its error is not shown'; cat "$tmp/output"; }
}

check_rules
check_names
[ ! -x "$talaria" ] || ! have gcc || check_example
finish page
