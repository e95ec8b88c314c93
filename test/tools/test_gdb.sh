#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# core/gdb/talaria.py: in a process that waits for a response, in its core file,
# and in the server.
#
#   test_gdb.sh BUILD_DIR SOURCE_ROOT
script=${2:?usage: $0 BUILD_DIR SOURCE_ROOT}/core/gdb/talaria.py
. "$(dirname "$0")/test_copy_common.sh"

: >"$server_err"
gdb --batch -nx -ex 'python print("python works")' 2>/dev/null |
    grep -q 'python works' || { echo 'skipped: no gdb with python'; exit 77; }

# debug ARGUMENT...: gdb with the script; fails if it complains.
debug() {
    ran="gdb $*"
    timeout -k 5 60 gdb --batch -nx -iex 'set debuginfod enabled off' \
        -ex "source $script" "$@" >"$out" 2>"$err" </dev/null
    ! grep -q 'Python Exception\|Error while' "$err" || fail "$ran: an exception"
}

matches() { grep -qE -- "$1" "$out" || fail "$ran: nothing like $1"; }

# Its bits are those of the header, in the same order.
ran='the bits of a call'
header=$(dirname "$script")/../hg/call.h
sed -n 's/^#define HG_CALL_\(SEND\|RECV\|CALLBACK\|EARLY\|CLAIMED\|OVER\|ASKED\) //p' \
    "$header" >"$out"
sed -n '/^PHASE/,/))$/p' "$script" | grep -oE '0x[0-9a-f]+' | sed 's/$/U/' |
    diff "$out" - >"$err" && [ -s "$out" ] || fail "$ran: others in $header"

debug -ex talaria
err_has 'nothing runs'

# A caller whose server is stopped: before its first wait, then in a library that
# gdb has found by itself.
serve
kill -STOP "$server"
debug -ex 'set breakpoint pending on' -ex 'tbreak HG_Forward' -ex run \
    -ex 'talaria handle' -ex 'tbreak HG_Progress' -ex continue -ex talaria \
    -ex 'talaria -a context' -ex 'talaria 5' -ex "generate-core-file $work/core" -ex kill \
    --args "$talaria" ping "$address"
if grep -q 'ptrace: Operation not permitted' "$err"; then
    echo 'skipped: nothing may be traced here'
    exit 77
fi
matches '^  handle 0x[0-9a-f]+ origin of talaria.ping, to peer 0x'
matches '^    idle; tag '
matches '^thread 1, in HG_Progress:$'
matches '^context 0x[0-9a-f]+: na\+sm id 0$'
matches '^  handles: 1 used; completions to trigger: 0$'
matches '^    (send pending, )?receive pending(, callback not run)?; tag 0x'
if grep -q 'gdb cannot call functions' "$out"; then
    echo 'left out: gdb cannot call functions here'
else
    out_has "origin of talaria.ping, to $address"
fi

err_has 'neither a context nor a handle'

# Without a process no function can be called.
debug -ex talaria "$talaria" "$work/core"
matches '^  handles: 1 used; completions to trigger: 0$'
matches '^    (send pending, )?receive pending'

kill -CONT "$server"
debug -ex 'tbreak HG_Progress' -ex continue -ex talaria -ex detach \
    -p "$server"
if grep -q 'Operation not permitted' "$err"; then
    echo 'left out: a process may not be attached to here'
else
    matches '^  handles: [1-9][0-9]* posted'
    # HG_Progress is not on the stack of a server that sleeps in its last call.
    debug -ex talaria -ex detach -p "$server"
    matches '^  handles: [1-9][0-9]* posted'
fi
serve_end
nothing_left
finish
