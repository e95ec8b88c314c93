#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# talaria ping: a server that answers, one that lacks the RPC, one that is
# stopped, one that has ended, and malformed addresses.
#
#   test_ping.sh BUILD_DIR
. "$(dirname "$0")/test_copy_common.sh"

# ping CODE ARGUMENT...: runs talaria ping, which exits with CODE.
ping() {
    local wanted=$1 code
    shift
    ran="ping $*"
    timeout -k 5 60 "$talaria" ping "$@" >"$out" 2>"$err"
    code=$?
    [ "$code" -eq "$wanted" ] || fail "$ran: exit code $code, not $wanted"
}

: >"$server_err"
ping 2
ping 2 --count 0 na+sm://1-0
ping 2 a b
ping 0 --help
out_has "--timeout"
ping 1 nonsense
err_has "nonsense: address: "
ping 1 nosuch+thing://x
err_has "transport: no plugin"
serve
ping 0 "$address"
err_empty
grep -qE '^first call: [0-9.]+ µs, with the connection$' "$out" ||
    fail "$ran: other words"
grep -qE '^2 more: [0-9.]+ µs shortest, [0-9.]+ µs mean, [0-9.]+ µs longest$' \
    "$out" || fail "$ran: other words"
ping 0 -c 1 "$address"
out_has "first call: "
[ "$(wc -l <"$out")" -eq 1 ] || fail "$ran: more than one line"
kill -STOP "$server"
ping 1 --timeout 1 "$address"
err_has "answer: none within 1 s"
kill -CONT "$server"
ping 0 "$address"
serve_end
ping 1 "$address"
grep -qE 'lookup|connection' "$err" || fail "$ran: no step that failed"
[ "$(grep -c '\[error\].*: connection refused' "$err")" -eq 1 ] ||
    fail "$ran: the log does not have the reason, once"

# Any server counts as alive.
"$talaria" perf serve na+sm >"$work/perf_out" 2>"$server_err" &
server=$!
until_true 10 grep -q 'na+sm://' "$work/perf_out" || fail "no perf server"
address=$(grep -o 'na+sm://[^ ]*' "$work/perf_out" | head -n 1)
ping 0 "$address"
out_has "returned an error"
kill -TERM "$server"
wait_code "$server" 5
server=
nothing_left
finish
