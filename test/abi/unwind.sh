#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Each function of an object can be unwound from every instruction:
#
#   unwind.sh OBJECT...          each function has a line in .eh_frame
#   unwind.sh --self-test CC...    finds a function without one
#
# Exit status 0, or 1 with the functions that have none.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh disable=SC1091
. "$here/lib.sh"
export LC_ALL=C

# The compiled functions of an object, without start-up code: its size is 0, or it
# is part of the compiler.
functions() {
    readelf -sW "$1" | awk '
        $4 == "FUNC" && $3 > 0 && $7 != "UND" &&
        $8 !~ /^(_init|_fini|_start|(de)?register_tm_clones|frame_dummy|__do_global_.*)$/ {
            print $2, $8
        }' | sort -u
}

# The first address of each part that can be unwound. .debug_frame does not
# count: only debuggers read it.
covered() {
    readelf --debug-dump=frames "$1" 2>/dev/null |
        sed -n '/^Contents of the .eh_frame /,/^Contents of the .debug_frame /s/.* FDE .*pc=\([0-9a-f]*\)\.\..*/\1/p' |
        sort -u
}

# check OBJECT
check() {
    local missing
    functions "$1" >"$tmp/functions"
    [ -s "$tmp/functions" ] || fail "$1 has no symbols"
    missing=$(covered "$1" | join -v 1 "$tmp/functions" - | cut -d' ' -f2)
    [ -z "$missing" ] ||
        fail "$1: nothing unwinds" "$(tr '\n' ' ' <<<"$missing")"
}

# self_test CC...
self_test() {
    printf 'int f(int *); int f(int *a) { return *a; }\n' >"$tmp/f.c"
    "$@" -shared -fPIC -O2 -g -fasynchronous-unwind-tables "$tmp/f.c" \
        -o "$tmp/good.so" || fail 'the compiler'
    "$@" -shared -fPIC -O2 -g -fno-asynchronous-unwind-tables -fno-exceptions \
        "$tmp/f.c" -o "$tmp/bad.so" || fail 'the compiler'
    (check "$tmp/good.so" && [ "$failures" -eq 0 ]) ||
        fail 'reports a correct object'
    (check "$tmp/bad.so" >"$tmp/output" && [ "$failures" -gt 0 ]) ||
        fail 'misses a function without a line'
}

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
case ${1-} in
--self-test)
    shift
    self_test "$@"
    ;;
*)
    for object; do
        check "$object"
    done
    ;;
esac
finish unwind.sh
