#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Holds the header of the transport ABI against the snapshot of each minor:
#
#   layout.sh HEADER HISTORY_DIR      every snapshot, with gcc and with clang
#   layout.sh --self-test HEADER      spoils copies of the header, each of which
#                                     has to be refused for its own reason
#
# Exit status 0, or 1 with what failed; 77 where pointers don't have 64 bits.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh disable=SC1091
. "$here/lib.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
draft_magic=1718632782 # NA_PLUGIN_MAGIC as long as it says draft

# compare COMPILER DIR SNAPSHOT: does DIR/na_plugin.h still match it? The
# compiler's words are left in $tmp/messages.
compare() {
    awk -f "$here/layout.awk" "$3" >"$tmp/layout.c" || return 2
    LC_ALL=C "$1" -std=gnu11 -fsyntax-only -I"$2" "$tmp/layout.c" \
        >"$tmp/messages" 2>&1
}

constant() {
    awk -v name="$2" '$1 == "const" && $2 == name { print $3 }' "$1"
}

# Whether the snapshots that there have to be are there.
check_history() {
    local now=$1 history=$2 major minor draft released
    major=$(constant "$now" NA_PLUGIN_ABI_MAJOR)
    minor=$(constant "$now" NA_PLUGIN_ABI_MINOR)
    draft=$history/$major.$minor-draft.snapshot
    if [ "$(constant "$now" NA_PLUGIN_MAGIC)" = "$draft_magic" ]; then
        if [ ! -f "$draft" ]; then
            fail "the magic says draft, and there is no $draft"
        elif ! cmp -s "$now" "$draft"; then
            fail "$draft is not of this header. A draft may change; write it" \
                "anew with: test/abi/snapshot.sh abi/na_plugin.h > $draft"
            diff "$draft" "$now" | head -n 20
        fi
        return
    fi
    for draft in "$history"/*-draft.snapshot; do
        [ ! -e "$draft" ] || fail "$draft: the ABI is no draft any more"
    done
    released=0
    while [ "$released" -lt "$minor" ] || [ "$released" -eq 0 ]; do
        [ -f "$history/$major.$released.snapshot" ] ||
            fail "no snapshot of $major.$released in $history"
        released=$((released + 1))
    done
}

check() {
    local header=$1 history=$2 compiler snapshot count=0
    if ! bash "$here/snapshot.sh" "$header" >"$tmp/now"; then
        fail "$header cannot be read"
        return
    fi
    check_history "$tmp/now" "$history"
    for snapshot in "$history"/*.snapshot; do
        [ -f "$snapshot" ] || continue
        count=$((count + 1))
        for compiler in $(c_compilers); do
            compare "$compiler" "$(dirname "$header")" "$snapshot" && continue
            fail "$(basename "$snapshot") with $compiler:"
            grep -E 'error' "$tmp/messages"
        done
    done
    printf '%s snapshots compared\n' "$count"
    [ "$count" -gt 0 ] || fail "no snapshot in $history"
}

# control NAME WANTED SED_SCRIPT: the header so spoiled must be refused with
# WANTED among the compiler's words; with WANTED "ok", accepted.
control() {
    local name=$1 wanted=$2 script=$3 compiler
    mkdir -p "$tmp/spoiled"
    sed -e "$script" "$tmp/flat.h" >"$tmp/spoiled/na_plugin.h"
    if cmp -s "$tmp/flat.h" "$tmp/spoiled/na_plugin.h"; then
        fail "control '$name' does not change the header"
        return
    fi
    for compiler in $(c_compilers 2>/dev/null); do
        if compare "$compiler" "$tmp/spoiled" "$tmp/now"; then
            [ "$wanted" = ok ] || fail "control '$name' passes with $compiler"
        elif [ "$wanted" = ok ]; then
            fail "control '$name' is refused by $compiler:"
            grep error "$tmp/messages"
        elif ! grep -q -- "$wanted" "$tmp/messages"; then
            fail "control '$name' is refused by $compiler, but not for" \
                "'$wanted':"
            grep error "$tmp/messages"
        fi
    done
}

self_test() {
    bash "$here/snapshot.sh" "$1" >"$tmp/now" || fail "$1 cannot be read"
    awk -f "$here/flatten.awk" "$1" >"$tmp/flat.h"

    control 'a field inserted into a table' \
        'na_plugin_ops.ctx_create: was at offset' \
        's/^.*(\*ctx_create)(/void *inserted; &/'
    control 'two functions of one type exchanged' \
        'na_plugin_ops.addr_dup: was at offset' \
        's/(\*addr_dup)(/(*swap)(/; s/(\*addr_free)(/(*addr_dup)(/;
         s/(\*swap)(/(*addr_free)(/'
    control 'a parameter of another type' \
        'na_plugin_ops.poll: was of type' \
        's/\((\*poll)(.*\)uint32_t max/\1uint64_t max/'
    control 'a parameter more' \
        'na_plugin_ops.cancel: was of type' \
        's/\((\*cancel)(.*\));/\1, uint32_t flags);/'
    control 'a parameter that lost its const' \
        'na_plugin_host.text: was of type' \
        's/\((\*text)(.*\)const char \*key/\1char *key/'
    control 'another result' \
        'na_plugin_ops.ctx_destroy: was of type' \
        's/^void (\*ctx_destroy)/int32_t (*ctx_destroy)/'
    control 'a grown struct that stands in arrays' \
        'na_plugin_event: frozen at' \
        's/^} na_plugin_event;/uint64_t grown; &/'
    control 'a grown struct that is passed in arrays' \
        'na_plugin_segment: frozen at' \
        's/^} na_plugin_segment;/uint64_t grown; &/'
    control 'a field of another type and the same size' \
        'na_plugin_event.flags: was of type' \
        '/^typedef struct na_plugin_event /,/^}/s/uint32_t flags/int32_t flags/'
    control 'a field that is gone' \
        'max_rma_size' \
        '/uint64_t max_rma_size;/d'
    control 'a constant of another value' \
        'NA_PLUGIN_EVENT_MORE: was' \
        's/\(#define NA_PLUGIN_EVENT_MORE\) .*/\1 0x4U/'
    control 'a constant that is gone' \
        'NA_PLUGIN_E_BUSY' \
        '/#define NA_PLUGIN_E_BUSY /d'
    control 'another id of an extension' \
        'NA_PLUGIN_WAIT_ID: was' \
        's,na\.wait/1,na.wait/2,'
    control 'another major' \
        'NA_PLUGIN_ABI_MAJOR: was' \
        's/\(#define NA_PLUGIN_ABI_MAJOR\) .*/\1 0/'

    control 'a table grown at its end' ok \
        's/^} na_plugin_ops;/void (*later)(na_plugin_class *cls); &/'
    control 'a new constant and a newer minor' ok \
        's/\(#define NA_PLUGIN_ABI_MINOR\) .*/\1 7/
         s/^#define NA_PLUGIN_OPEN_LISTEN /#define NA_PLUGIN_OPEN_NEW 0x80U\
&/'
}

if ! echo '_Static_assert(sizeof(void *) == 8, "");' |
    "${CC:-gcc}" -x c -fsyntax-only - 2>/dev/null; then
    printf 'skipped: the snapshots are of machines with 64-bit pointers\n'
    exit 77
fi
if [ "$#" -ne 2 ]; then
    fail 'usage: layout.sh HEADER HISTORY_DIR | --self-test HEADER'
elif [ "$1" = --self-test ]; then
    self_test "$2"
else
    check "$1" "$2"
fi
finish layout.sh
