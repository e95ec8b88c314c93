#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What shared objects export, need and lack:
#
#   symbols.sh --plugin FILE...                plugins: one symbol defined,
#                                              none of Talaria undefined
#   symbols.sh --core FILE [--text-limit N]    libtalaria.so: the interface and
#                                              nothing else; libc and libjansson
#                                              only; at most N bytes of text
#   symbols.sh --self-test                     builds objects that must be
#                                              refused, each for its own reason
#
# Symbols and libraries of sanitizers and gcov are ignored. Exit status 0,
# or 1 with what failed.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh disable=SC1091
. "$here/lib.sh"
interface='^(HG_|NA_|hg_proc_|hg_string_object_|talaria_)'
inside='^(na_|NA_|hg_|HG_|talaria_)'
libc='^(libc|libpthread|libdl|librt|ld-linux[a-z0-9_-]*)\.so'
instrument='^(__odr_asan|__[a-z]*san_|__sanitizer|__llvm_|_*gcov_|mangle_path$)'
instrument_libs='^lib(asan|ubsan|tsan|lsan|clang_rt\.[a-z_]*)[-.]'
soname=libtalaria.so.0

defined() {
    nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' |
        sed 's/@.*//' | grep -vE "$instrument" | sort -u
}

undefined() {
    nm -D --undefined-only "$1" | awk '{ print $NF }' | sed 's/@.*//' |
        sort -u
}

# The words in brackets of the lines (NEEDED), (SONAME) …
dynamic() {
    LC_ALL=C readelf -d "$1" | sed -n "s/.*($2).*\\[\\(.*\\)\\].*/\\1/p"
}

readable() {
    if ! LC_ALL=C readelf -h "$1" 2>&1 | grep -q 'DYN (Shared object'; then
        fail "$1: not a shared object"
        return 1
    fi
}

check_plugin() {
    local file=$1 names
    readable "$file" || return
    names=$(defined "$file" | tr '\n' ' ')
    [ "$names" = 'na_plugin_v1 ' ] ||
        fail "$file: defines '$names', not na_plugin_v1 alone"
    nm -D --defined-only "$file" | grep -q '[RDBV] na_plugin_v1$' ||
        fail "$file: na_plugin_v1 is not data"
    names=$(undefined "$file" | grep -E "$inside" | tr '\n' ' ')
    [ -z "$names" ] || fail "$file: lacks symbols of Talaria: $names"
    names=$(dynamic "$file" NEEDED | grep -E 'talaria|mercury')
    [ -z "$names" ] || fail "$file: is linked to $names"
}

check_core() {
    local file=$1 limit=$2 names text
    readable "$file" || return
    names=$(defined "$file" | grep -vE "$interface" | tr '\n' ' ')
    [ -z "$names" ] || fail "$file: exports beyond the interface: $names"
    defined "$file" | grep -qE "$interface" ||
        fail "$file: exports nothing of the interface"
    names=$(undefined "$file" | grep -E "$inside" | tr '\n' ' ')
    [ -z "$names" ] || fail "$file: lacks symbols of its own: $names"
    names=$(dynamic "$file" NEEDED |
        grep -vE "$libc|^libjansson\\.so|$instrument_libs" | tr '\n' ' ')
    [ -z "$names" ] || fail "$file: needs $names"
    names=$(dynamic "$file" SONAME)
    [ "$names" = "$soname" ] || fail "$file: soname '$names', not $soname"
    text=$(size "$file" | awk 'NR == 2 { print $1 }')
    printf '%s: %s bytes of text\n' "$file" "$text"
    if [ "$limit" -gt 0 ] && [ "$text" -gt "$limit" ]; then
        fail "$file: $text bytes of text, at most $limit"
    fi
}

# build NAME CODE [OPTION...]: a shared object of that code
build() {
    local name=$1 code=$2
    shift 2
    printf '%s\n' "$code" |
        "${CC:-cc}" -shared -fPIC -o "$tmp/$name" -x c - -x none "$@" ||
        fail "$name: cannot be built"
}

# refuses WANTED FUNCTION [ARGUMENT...]: the check must fail with WANTED in its
# output; with WANTED "ok", pass
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
    local symbol='const int na_plugin_v1 = 1;'
    local call='int HG_Init(void) { return 1; }'
    local name="-Wl,-soname,$soname"
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT

    build good.so "$symbol"
    refuses ok check_plugin "$tmp/good.so"
    build two.so "$symbol int more = 1;"
    refuses 'not na_plugin_v1 alone' check_plugin "$tmp/two.so"
    build none.so 'static int none; int *f(void); '
    refuses 'not na_plugin_v1 alone' check_plugin "$tmp/none.so"
    build code.so 'int na_plugin_v1(void) { return 1; }'
    refuses 'is not data' check_plugin "$tmp/code.so"
    build lacks.so "$symbol extern int na_log_level;
        __attribute__((visibility(\"hidden\"))) int *f(void)
        { return &na_log_level; }"
    refuses 'lacks symbols of Talaria: na_log_level' \
        check_plugin "$tmp/lacks.so"
    build "$soname" "$call" "$name"
    build linked.so "$symbol" -Wl,--no-as-needed "$tmp/$soname"
    refuses 'is linked to libtalaria' check_plugin "$tmp/linked.so"
    printf 'no object\n' >"$tmp/text.so"
    refuses 'not a shared object' check_plugin "$tmp/text.so"

    refuses ok check_core "$tmp/$soname" 196608
    refuses 'bytes of text, at most 10' check_core "$tmp/$soname" 10
    build nameless.so "$call"
    refuses 'soname' check_core "$tmp/nameless.so" 0
    build chatty.so "$call int na_class_open(void) { return 1; }" "$name"
    refuses 'beyond the interface: na_class_open' check_core "$tmp/chatty.so" 0
    build empty.so 'static int nothing;' "$name"
    refuses 'exports nothing' check_core "$tmp/empty.so" 0
    build needy.so "$call" "$name" -Wl,--no-as-needed -lm
    refuses 'needs libm' check_core "$tmp/needy.so" 0
}

case ${1-} in
--plugin)
    shift
    [ "$#" -gt 0 ] || fail 'no plugin given'
    for file; do
        check_plugin "$file"
    done
    ;;
--core)
    case $#:${3-} in
    2:) check_core "$2" 0 ;;
    4:--text-limit) check_core "$2" "$4" ;;
    *) fail 'usage: symbols.sh --core FILE [--text-limit N]' ;;
    esac
    ;;
--self-test) self_test ;;
*) fail 'usage: symbols.sh --plugin FILE... | --core FILE | --self-test' ;;
esac
finish symbols.sh
