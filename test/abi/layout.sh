#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares the header of the transport ABI with the snapshot of each minor:
#
#   layout.sh HEADER HISTORY_DIR      every snapshot, with gcc and with clang,
#                                     as code of several architectures
#   layout.sh --self-test HEADER HISTORY_DIR
#                                     changes copies of the header; each must
#                                     be refused for its own reason, or accepted
#
# Exit status 0, or 1 with what failed; 77 where pointers don't have 64 bits.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh disable=SC1091
. "$here/lib.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
everywhere=true # for all architectures

# compare COMPILER DIR SNAPSHOT: whether DIR/na_plugin.h matches it. COMPILER may
# have options; its output is in $tmp/messages.
compare() {
    awk -f "$here/layout.awk" "$3" >"$tmp/layout.c" || return 2
    # shellcheck disable=SC2086 # several words
    LC_ALL=C $1 -std=gnu11 -fsyntax-only -I"$2" "$tmp/layout.c" \
        >"$tmp/messages" 2>&1
}

# compilers SNAPSHOT: prints one a line, with options. Code for other
# architectures is compiled without libraries.
compilers() {
    local line
    case $1 in
    *-i386.snapshot)
        for line in 'gcc -m32 -ffreestanding' \
            'clang --target=i386-linux-gnu -ffreestanding'; do
            # shellcheck disable=SC2086
            ! $line -fsyntax-only -x c /dev/null 2>/dev/null ||
                printf '%s\n' "$line"
        done
        ;;
    *)
        c_compilers 2>/dev/null
        ! $everywhere || ! have clang || printf 'clang --target=%s-linux-gnu -ffreestanding\n' \
            x86_64 aarch64 powerpc64le riscv64 s390x
        ;;
    esac
}

constant() {
    awk -v name="$2" '$1 == "const" && $2 == name { print $3 }' "$1"
}

# Whether the required snapshots exist: one for each minor, released ones
# unchanged, the last one of this header.
check_history() {
    local now=$1 history=$2 major minor file released=0
    major=$(constant "$now" NA_PLUGIN_ABI_MAJOR)
    minor=$(constant "$now" NA_PLUGIN_ABI_MINOR)
    (cd "$history" && sha256sum --quiet --strict -c released) 2>&1 ||
        fail "a snapshot that has been released was changed or removed"
    while [ "$released" -le "$minor" ]; do
        for file in "$major.$released.snapshot" "$major.$released-i386.snapshot"; do
            [ -f "$history/$file" ] ||
                fail "no $file: write it with test/abi/snapshot.sh"
        done
        released=$((released + 1))
    done
    file=$history/$major.$minor.snapshot
    if [ -f "$file" ] && ! cmp -s "$now" "$file"; then
        fail "the header is not that of $major.$minor. An addition is a new" \
            "minor: CONTRIBUTING.md has the steps"
        diff "$file" "$now" | head -n 20
    fi
}

check() {
    local header=$1 history=$2 compiler snapshot count=0 compared=0
    if ! bash "$here/snapshot.sh" "$header" >"$tmp/now"; then
        fail "$header cannot be read"
        return
    fi
    check_history "$tmp/now" "$history"
    for snapshot in "$history"/*.snapshot; do
        [ -f "$snapshot" ] || continue
        count=$((count + 1))
        while read -r compiler; do
            compared=$((compared + 1))
            compare "$compiler" "$(dirname "$header")" "$snapshot" && continue
            fail "$(basename "$snapshot") with $compiler:"
            grep -E 'error' "$tmp/messages"
        done < <(compilers "$snapshot")
    done
    printf '%s snapshots compared, by %s compilers and targets\n' \
        "$count" "$compared"
    [ "$compared" -ge "$count" ] || fail 'no compiler for some snapshot'
    [ "$count" -gt 0 ] || fail "no snapshot in $history"
}

# control NAME WANTED SED_SCRIPT: the altered header must be refused, with WANTED
# in the compiler's output; with WANTED "ok", accepted.
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

# procedure NAME WANTED HEADER_SCRIPT [COMMAND]: runs the whole check with an
# altered header and a copy of the history that COMMAND has changed. It must fail
# with WANTED in its output; with WANTED "ok", succeed.
procedure() {
    local name=$1 wanted=$2 script=$3
    rm -rf "$tmp/gate"
    mkdir -p "$tmp/gate"
    cp -r "$history" "$tmp/gate/history"
    sed -e "$script" "$tmp/flat.h" >"$tmp/gate/na_plugin.h"
    (cd "$tmp/gate" && eval "${4-:}") || fail "procedure '$name' cannot be run"
    # shellcheck disable=SC2034 # fail counts them, in lib.sh
    (failures=0 && everywhere=false && check "$tmp/gate/na_plugin.h" "$tmp/gate/history") \
        >"$tmp/complaints" 2>&1
    if [ "$wanted" = ok ]; then
        ! grep '^FAIL' "$tmp/complaints" || fail "procedure '$name' is refused"
    elif ! grep -q "^FAIL: .*$wanted" "$tmp/complaints"; then
        fail "procedure '$name' is not refused for '$wanted', but:"
        cat "$tmp/complaints"
    fi
}

# The steps of an addition, and the errors without each of them.
procedures() {
    local longer='s/^} na_plugin_ops;/void (*later)(na_plugin_class *cls); &/'
    local minor='s/\(#define NA_PLUGIN_ABI_MINOR\) .*/\1 1/'
    local constant='s/^#define NA_PLUGIN_OPEN_LISTEN /#define NA_PLUGIN_OPEN_NEW 0x80U\
&/'
    local write="bash '$here/snapshot.sh' na_plugin.h >history/1.1.snapshot"
    local cut="$tmp/cut.snapshot"
    procedure 'nothing changed' ok ''
    procedure 'a member more, nothing else' 'An addition is a new minor' \
        "$longer"
    procedure 'a constant more, nothing else' 'An addition is a new minor' \
        "$constant"
    procedure 'a new minor without a snapshot' 'no 1.1.snapshot' \
        "$longer; $minor"
    # The layout of i386 depends on another compiler, and is not checked here.
    cp "$history/1.0-i386.snapshot" "$cut"
    procedure 'a member more, a new minor, its snapshots' ok \
        "$longer; $minor" "$write && cp '$cut' history/1.1-i386.snapshot"
    procedure 'a constant more, a new minor, its snapshots' ok \
        "$constant; $minor" "$write && cp '$cut' history/1.1-i386.snapshot"
    procedure 'a released snapshot written anew' 'has been released' \
        "$longer" "bash '$here/snapshot.sh' na_plugin.h >history/1.0.snapshot"
    procedure 'a released snapshot removed' 'has been released' '' \
        'rm history/1.0.snapshot'
    procedure 'a member inserted, by all steps' 'was at offset\|1.0.snapshot with' \
        "s/^.*(\*ctx_create)(/void *inserted; &/; $minor" \
        "$write && cp '$cut' history/1.1-i386.snapshot"
}

self_test() {
    local history=$2
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
    control 'a larger struct that is used in arrays' \
        'na_plugin_event: frozen at' \
        's/^} na_plugin_event;/uint64_t grown; &/'
    control 'a larger struct that is passed in arrays' \
        'na_plugin_segment: frozen at' \
        's/^} na_plugin_segment;/uint64_t grown; &/'
    control 'a field of another type and the same size' \
        'na_plugin_event.flags: was of type' \
        '/^typedef struct na_plugin_event /,/^}/s/uint32_t flags/int32_t flags/'
    control 'a removed field' \
        'max_rma_size' \
        '/uint64_t max_rma_size;/d'
    control 'a constant of another value' \
        'NA_PLUGIN_EVENT_MORE: was' \
        's/\(#define NA_PLUGIN_EVENT_MORE\) .*/\1 0x4U/'
    control 'a removed constant' \
        'NA_PLUGIN_E_BUSY' \
        '/#define NA_PLUGIN_E_BUSY /d'
    control 'another id of an extension' \
        'NA_PLUGIN_WAIT_ID: was' \
        's,na\.wait/1,na.wait/2,'
    control 'a kind of memory of another value' \
        'NA_PLUGIN_MEM_ROCM: was' \
        's/\(#define NA_PLUGIN_MEM_ROCM\) .*/\1 4U/'
    control 'two fields exchanged' \
        'na_plugin_opened.max_tag: was at offset' \
        's/uint64_t max_tag;/uint64_t swap;/
         s/uint64_t max_segments;/uint64_t max_tag;/
         s/uint64_t swap;/uint64_t max_segments;/'
    control 'a wider field' \
        'na_plugin_open_info.addr_format: had' \
        's/uint32_t addr_format;/uint64_t addr_format;/'
    control 'a field inserted into a frozen struct' \
        'na_plugin_segment.length: was at offset' \
        's/^uint64_t length;/uint64_t inserted; &/'
    control 'an optional entry that is required now' \
        'optional_put' \
        's/entry(put)//'
    control 'a required entry that is optional now' \
        'duplicate member .*optional_poll' \
        's/entry(put)/& entry(poll)/'
    control 'a smaller table' \
        'max_unexpected_size\|na_plugin_opened: had' \
        's/uint32_t unexpected_header_size;//;
         s/uint32_t expected_header_size;//'
    control 'another size of 1.0' \
        'NA_PLUGIN_OPENED_SIZE_1_0: was' \
        's/na_plugin_opened, reserved_zero)/na_plugin_opened, max_contexts)/'
    control 'another major' \
        'NA_PLUGIN_ABI_MAJOR: was' \
        's/\(#define NA_PLUGIN_ABI_MAJOR\) .*/\1 0/'

    control 'a table grown at its end' ok \
        's/^} na_plugin_ops;/void (*later)(na_plugin_class *cls); &/'
    control 'an optional entry at the end' ok \
        's/^} na_plugin_ops;/void (*later)(na_plugin_class *cls); &/
         s/entry(put)/& entry(later)/'
    control 'a new constant and a newer minor' ok \
        's/\(#define NA_PLUGIN_ABI_MINOR\) .*/\1 7/
         s/^#define NA_PLUGIN_OPEN_LISTEN /#define NA_PLUGIN_OPEN_NEW 0x80U\
&/'
    procedures
}

if ! echo '_Static_assert(sizeof(void *) == 8, "");' |
    "${CC:-gcc}" -x c -fsyntax-only - 2>/dev/null; then
    printf 'skipped: the snapshots are of machines with 64-bit pointers\n'
    exit 77
fi
case ${1-}:$# in
--self-test:3) self_test "$2" "$3" ;;
--self-test:* | *:[013]) fail 'usage: layout.sh [--self-test] HEADER HISTORY_DIR' ;;
*) check "$1" "$2" ;;
esac
finish layout.sh
