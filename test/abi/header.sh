#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks the header of the transport ABI against rule 1:
#
#   header.sh HEADER               checks it
#   header.sh --self-test HEADER   alters copies of it; each must be rejected
#                                  for its own reason
#
# It compiles by itself without a warning in each language mode with gcc and
# clang; it includes <stddef.h> and <stdint.h> only, has at most 650 lines, and
# uses no type whose width depends on the compiler. A missing compiler is reported
# and left out. Exit status 0, or 1 with what failed.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh disable=SC1091
. "$here/lib.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
modes='gcc:c99 gcc:c17 clang:c99 clang:c17
    g++:c++98 g++:c++20 clang++:c++98 clang++:c++20'
max_lines=650

# A program that uses every struct (-Wpadded checks used ones only), includes the
# header twice, and defines a plugin with the macros for it.
write_program() {
    awk -f "$here/members.awk" "$tmp/flat" >"$tmp/members" || return 1
    printf '#include "na_plugin.h"\n#include "na_plugin.h"\n'
    printf 'NA_PLUGIN_EXPORT const na_plugin NA_PLUGIN_SYMBOL(one) = PLUGIN;\n'
    printf 'extern const size_t sizes[];\nconst size_t sizes[] = {\n'
    awk '$1 == "struct" { printf "    sizeof(%s),\n", $2 }' "$tmp/members"
    printf '    0};\n'
}

check_compiles() {
    local dir=$1 mode compiler used=0
    if ! write_program >"$tmp/alone.c"; then
        fail "members.awk cannot read the header"
        return
    fi
    cp "$tmp/alone.c" "$tmp/alone.cc"
    for mode in $modes; do
        compiler=${mode%%:*}
        if ! have "$compiler"; then
            printf 'skipped: %s is not installed\n' "$mode"
            continue
        fi
        used=$((used + 1))
        case $compiler in
        *++) set -- "$tmp/alone.cc" '-DPLUGIN={}' ;;
        *) set -- "$tmp/alone.c" '-DPLUGIN={0}' ;;
        esac
        for macro in NOTHING NA_PLUGIN_STATIC; do
            LC_ALL=C "$compiler" "-std=${mode#*:}" -Wall -Wextra -Wpedantic \
                -Wpadded -Werror "-D$macro" "$2" "-I$dir" -c "$1" \
                -o "$tmp/alone.o" >"$tmp/messages" 2>&1 && continue
            fail "does not compile as $mode, -D$macro:"
            cat "$tmp/messages"
        done
    done
    [ "$used" -gt 0 ] || fail 'no compiler at all'
}

# Words that rule 1 forbids, in the header without its comments and strings.
check_text() {
    local header=$1 lines includes word
    lines=$(wc -l <"$header")
    [ "$lines" -le "$max_lines" ] ||
        fail "$lines lines, at most $max_lines"
    includes=$(grep -E '^# *include' "$tmp/flat" | tr -d ' ' | sort |
        tr '\n' ' ')
    [ "$includes" = '#include<stddef.h> #include<stdint.h> ' ] ||
        fail "includes: $includes"

    sed -e 's/"\([^"\\]\|\\.\)*"/""/g' "$tmp/flat" >"$tmp/code"
    for word in enum long short int unsigned signed float double bool \
        _Bool size_t ssize_t off_t time_t wchar_t va_list; do
        grep -nw -- "$word" "$tmp/code" >"$tmp/found" || continue
        fail "names $word:"
        cat "$tmp/found"
    done
    if grep -n '\.\.\.' "$tmp/code"; then
        fail 'a variable number of arguments'
    fi
    if grep -v '^#' "$tmp/code" | grep -n ':'; then
        fail 'a bit-field'
    fi
    check_functions
}

# A function may do arithmetic; it calls nothing and has no static variable.
check_functions() {
    awk '
        /^#/ { next }
        { text = text " " $0 }
        END {
            while (match(text, /\)[ ]*\{/)) {
                text = substr(text, RSTART + RLENGTH)
                depth = 1
                for (i = 1; i <= length(text) && depth > 0; i++) {
                    c = substr(text, i, 1)
                    depth += (c == "{") - (c == "}")
                }
                body = substr(text, 1, i - 1)
                gsub(/(if|while|for|switch|return|sizeof) *\(/, "(", body)
                if (body ~ /[A-Za-z0-9_)] *\(/ || body ~ /(^|[ ;])static /)
                    print body
            }
        }' "$tmp/code" >"$tmp/found"
    if [ -s "$tmp/found" ]; then
        fail 'a function that does more than arithmetic:'
        cat "$tmp/found"
    fi
}

check() {
    awk -f "$here/flatten.awk" "$1" >"$tmp/flat"
    check_text "$1"
    check_compiles "$(dirname "$1")"
}

# control NAME WANTED SED_SCRIPT: the altered header must be refused, with WANTED
# in the output; with WANTED "ok", accepted.
control() {
    local name=$1 wanted=$2 script=$3
    mkdir -p "$tmp/spoiled"
    sed -e "$script" "$header" >"$tmp/spoiled/na_plugin.h"
    if cmp -s "$header" "$tmp/spoiled/na_plugin.h"; then
        fail "control '$name' does not change the header"
        return
    fi
    (
        awk -f "$here/flatten.awk" "$tmp/spoiled/na_plugin.h" >"$tmp/flat"
        check_text "$tmp/spoiled/na_plugin.h"
        case $wanted in ok | *compile*) check_compiles "$tmp/spoiled" ;; esac
    ) >"$tmp/complaints" 2>&1
    if [ "$wanted" = ok ]; then
        grep '^FAIL' "$tmp/complaints" && fail "control '$name' is refused"
    elif ! grep -q "^FAIL: .*$wanted" "$tmp/complaints"; then
        fail "control '$name' is not refused for '$wanted', but:"
        cat "$tmp/complaints"
    fi
}

self_test() {
    local field='typedef struct na_plugin_segment {'
    header=$1
    control 'one include more' 'includes:' 's/^#include <stddef.h>/&\
#include <stdio.h>/'
    seq "$max_lines" | sed 's/.*//' >"$tmp/blank"
    control 'a line too many' 'lines, at most' "\$r $tmp/blank"
    control 'an enum' 'names enum' "s/^$field/enum e { E };\\
&/"
    control 'a long' 'names long' "s/^$field/&\\
    long later;/"
    control 'a bool' 'names bool' "s/^$field/&\\
    bool later;/"
    control 'a bit-field' 'a bit-field' "s/^$field/&\\
    uint32_t later : 3;/"
    control 'variable arguments' 'variable number' \
        's/const char \*text);/const char *text, ...);/'
    control 'a hole' 'does not compile as .*:c99' "s/^$field/&\\
    uint32_t later;/"
    control 'what only C accepts' 'does not compile as .*:c++98' \
        's/na_plugin_ctx \*ctx, void \*op/na_plugin_ctx *new, void *op/'
    control 'what C99 does not have' 'does not compile as .*:c99' \
        's/^typedef struct na_plugin_ctx na_plugin_ctx;/& &/'
    control 'no extern "C" around a definition' 'does not compile' \
        's/^#define NA_PLUGIN_SYMBOL(name) .*/#define NA_PLUGIN_SYMBOL(name)/'
    control 'a function that calls' 'more than arithmetic' "s/^$field/static \\
inline void f(void (*g)(void)) { g(); }\\
&/"
    control 'a function that keeps' 'more than arithmetic' "s/^$field/static \\
inline uint32_t f(void) { static uint32_t n; return ++n; }\\
&/"
    control 'a function that adds' ok "s/^$field/static inline \\
uint32_t na_plugin_sum(uint32_t a, uint32_t b) { return (a) + (b); }\\
&/"
}

if [ "$#" -eq 1 ]; then
    check "$1"
elif [ "$#" -eq 2 ] && [ "$1" = --self-test ]; then
    self_test "$2"
else
    fail 'usage: header.sh [--self-test] HEADER'
fi
finish header.sh
