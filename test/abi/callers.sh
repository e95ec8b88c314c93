#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Only na, and rt for the submissions of bulk and hg, call a plugin through its
# tables:
#
#   callers.sh SOURCE_ROOT              checks the tree
#   callers.sh --self-test SOURCE_ROOT  adds files to copies of it, each of
#                                       which has to be rejected or not
#
# Exit status 0, or 1 with what failed.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh disable=SC1091
. "$here/lib.sh"

# Sets entries to a pattern of the functions in a plugin's tables.
set_entries() {
    local tables='na_plugin_(ops|multi_recv|wait|mem_alloc|report)'
    entries=$(awk -f "$here/flatten.awk" "$1" | awk -f "$here/members.awk" |
        sed -nE "s/^field $tables ([a-z_]+) .*\\(\\*@\\).*/\\2/p" | sort -u |
        paste -sd '|')
    [[ $entries == *'|send_expected|'* && $entries == *recv_multi* ]] ||
        fail "$1: no entries found"
}

sources() {
    (cd "$1" && find core -type f \( -name '*.c' -o -name '*.h' \) \
        ! -path 'core/na/*' ! -path 'core/rt/*' | sort)
}

# Searches one statement per line, which finds calls that are broken across
# lines. A pointer to a table counts as a call.
check_file() {
    local file=$2 line
    while read -r line; do
        fail "$file: $line"
    done < <(awk -f "$here/flatten.awk" "$1/$file" | grep -E \
        -e "(->|\\.) ?($entries) ?\\(" \
        -e "(->|\\.) ?ops\\b" -e '\bna_context_ops\b' \
        -e '\bna_plugin_(ops|multi_recv|wait|mem_alloc|report)\b')
}

check() {
    local root=$1 file count=0
    while read -r file; do
        count=$((count + 1))
        check_file "$root" "$file"
    done < <(sources "$root")
    [ "$count" -gt 0 ] || fail "$root: no file was checked"
    printf '%s files\n' "$count"
}

# control NAME yes|no FILE CONTENT: whether FILE is refused.
control() {
    local name=$1 wanted=$2 file=$3 content=$4 got=no
    mkdir -p "$(dirname "$tmp/$file")"
    printf '%s\n' "$content" >"$tmp/$file"
    if (
        check "$tmp"
        [ "$failures" -eq 0 ]
    ) >"$tmp/output"; then
        :
    elif grep -q "^FAIL: $file: " "$tmp/output"; then
        got=yes
    else
        got=other
    fi
    [ "$got" = "$wanted" ] || fail "control '$name': refused: $got, not $wanted"
    rm "$tmp/$file"
}

self_test() {
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    mkdir -p "$tmp/core/hg"
    printf 'static int nothing;\n' >"$tmp/core/hg/other.c"

    control 'a call' yes core/hg/x.c \
        'void f(struct x *x) { x->table->send_unexpected(x->ctx); }'
    control 'a call in two lines' yes core/bulk/x.c \
        'void f(struct x *x) { table(x)
            ->cancel(x->ctx); }'
    control 'a call of a copied table' yes core/hg/x.h \
        'void f(struct x *x) { x->table.addr_free(x->cls); }'
    control 'the table of a class' yes core/hg/x.c \
        'void f(struct na_class *c) { g(&c->ops); }'
    control 'the table of a context' yes core/bulk/x.c \
        'void f(struct na_context *c) { g(na_context_ops(c)); }'
    control 'an entry taken out' yes core/hg/x.c \
        'void f(const na_plugin_ops *t) { g(t->put); }'
    control 'multi-receive' yes core/hg/x.c \
        'void f(struct x *x) { x->multi_recv->recv_multi(x->ctx); }'

    control 'a typed call' no core/hg/x.c \
        'void f(struct x *x) { rt_cancel(x->na_context, x->op); }'
    control 'a comment' no core/hg/x.c \
        '/* as ops->cancel(ctx, op), na_context_ops */'
    control 'na' no core/na/x.c \
        'void f(struct x *x) { x->ops.cancel(x->ctx); }'
    control 'rt' no core/rt/x.h \
        'void f(struct x *x) { na_context_ops(x)->cancel(x->ctx); }'
}

case $#:${1-} in
1:*)
    set_entries "$1/abi/na_plugin.h"
    check "$1"
    ;;
2:--self-test)
    set_entries "$2/abi/na_plugin.h"
    self_test
    ;;
*) fail 'usage: callers.sh [--self-test] SOURCE_ROOT' ;;
esac
finish callers.sh
