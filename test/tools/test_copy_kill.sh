#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# talaria copy when a peer dies, stops or is interrupted: the other side ends
# soon with a message, no partial file is left, and the next peer is served.
#
#   test_copy_kill.sh BUILD_DIR
. "$(dirname "$0")/test_copy_common.sh"

# Large enough that a transfer of MIDDLE bytes is far from its end, and sparse: it
# is not written first.
large=$((64 << 30))
middle=$((64 << 20))
client=

# has_read PID BYTES: a process has read at least BYTES. (It reads holes, without
# access to the disk.)
has_read() {
    local bytes
    bytes=$(sed -n 's/^rchar: //p' "/proc/$1/io" 2>/dev/null)
    [ "${bytes:-0}" -ge "$2" ]
}

# The number of files without a name, or with a hidden one, that a process has
# open beneath a directory.
unfinished() {
    find "/proc/$1/fd" -mindepth 1 -printf '%l\n' 2>/dev/null |
        grep -cE "^$2.*(\(deleted\)|/#[0-9]+|\.talaria-[^/]*)$"
}

none_unfinished() { [ "$(unfinished "$1" "$2")" -eq 0 ]; }
some_unfinished() { [ "$(unfinished "$1" "$2")" -gt 0 ]; }

# start_client ARGUMENT...: in the background; sets client.
start_client() {
    ran="copy $*"
    "$talaria" copy "$@" >"$out" 2>"$err" &
    client=$!
}

# in_the_middle PID: that process is reading the transferred file.
in_the_middle() {
    local before
    before=$(sed -n 's/^rchar: //p' "/proc/$1/io")
    until_true 60 has_read "$1" $((before + middle)) ||
        fail "$ran: did not reach its middle"
    has_ended "$client" && fail "$ran: was over before its middle"
}

# client_ends CODE: within five seconds.
client_ends() {
    wait_code "$client" 5
    [ "$waited" = "$1" ] || fail "$ran: ended with $waited, not $1"
    if [ "$waited" = never ]; then
        kill -9 "$client"
        wait "$client" 2>/dev/null
    fi
}

# One message for one error.
one_line() {
    [ "$(wc -l <"$err")" -eq 1 ] || fail "$ran: more than one line of errors"
}

# The server has closed the files of a client, and logged that once.
server_noticed() {
    until_true 5 none_unfinished "$server" "$exported" ||
        fail "$ran: the server keeps its unfinished upload"
    until_true 5 has_line 'talaria copy: client [0-9]*: ' "$server_err" ||
        fail "$ran: the server does not log that its client has ended"
    [ "$(wc -l <"$server_err")" -eq 1 ] || fail "$ran: more than one line"
    : >"$server_err"
}

# Others are served.
still_serves() {
    copy 0 put -f "$work/small" "$address"
    copy 0 get -f "$address" small "$work/small_back"
    same "$work/small" "$work/small_back"
    [ "$(ls "$exported")" = "$1" ] ||
        fail "left behind: $(ls -A "$exported")"
}

test_client_killed_in_put() {
    start_client put "$work/large" "$address"
    in_the_middle "$client"
    kill -9 "$client"
    wait "$client" 2>/dev/null
    server_noticed
    still_serves small
}

test_client_killed_in_get() {
    truncate -s $large "$exported/large"
    start_client get "$address" large "$work/got"
    in_the_middle "$server"
    kill -9 "$client"
    wait "$client" 2>/dev/null
    server_noticed
    [ ! -e "$work/got" ] || fail "$ran: its target is there"
    rm "$exported/large"
    still_serves small
}

# Nothing is in flight then: only a timeout detects it.
test_client_killed_while_idle() {
    start_client put "$work/large" "$address"
    in_the_middle "$client"
    kill -STOP "$client"
    until_true 5 stopped "$client"
    sleep 2
    some_unfinished "$server" "$exported" ||
        fail "$ran: a stopped client was dropped"
    kill -9 "$client"
    wait "$client" 2>/dev/null
    server_noticed
    still_serves small
}

stopped() { grep -q '^State:.*T' "/proc/$1/status"; }

test_client_interrupted() {
    start_client put "$work/large" "$address"
    in_the_middle "$client"
    kill -INT "$client"
    client_ends 130
    err_has "interrupted"
    out_has "put: 0 files"
    until_true 5 none_unfinished "$server" "$exported" ||
        fail "$ran: the server keeps its unfinished upload"
    [ ! -s "$server_err" ] || fail "$ran: it did not close its session"
    still_serves small
}

# On a terminal: a bar that moves within a file, and a separate line for the
# message at its end.
bar_is_drawn() { grep -aqE '[1-9][0-9.]* [KMG]iB of .*0/1 files.* left' "$out"; }
test_bar_interrupted() {
    local clear
    clear=$(printf '\r\033[K')
    if ! command -v script >/dev/null; then
        echo 'left out: no script(1) for a terminal'
        return
    fi
    ran="copy put, on a terminal"
    : >"$out"
    # shellcheck disable=SC2016 # for the inner shell
    TALARIA=$talaria SOURCE=$work/large ADDRESS=$address PID=$work/pid \
        script -qefc 'echo $$ >"$PID"
        exec "$TALARIA" copy put "$SOURCE" "$ADDRESS"' "$out" \
        >/dev/null 2>"$err" </dev/null &
    client=$!
    until_true 30 bar_is_drawn || fail "$ran: no bar"
    kill -INT "$(cat "$work/pid")"
    client_ends 130
    grep -aqF "${clear}talaria copy: $address: interrupted" "$out" ||
        fail "$ran: the message does not replace the bar"
    until_true 5 none_unfinished "$server" "$exported" ||
        fail "$ran: the server keeps its unfinished upload"
    still_serves small
}

test_client_too_idle() {
    serve_end
    serve --idle 2
    start_client put "$work/large" "$address"
    in_the_middle "$client"
    kill -STOP "$client"
    server_noticed
    kill -CONT "$client"
    client_ends 1
    err_has "the server has closed the session"
    still_serves small
    serve_end
    serve
}

# stop_server SIGNAL
server_ends_in_the_middle() {
    kill "$1" "$server"
    wait "$server" 2>/dev/null
    server_code=$?
    client_ends 1
    out_has "0 files"
}

test_server_killed_in_put() {
    start_client put "$work/large" "$address"
    in_the_middle "$client"
    server_ends_in_the_middle -9
    err_has "lost the server"
    err_has "large: not copied"
    one_line
    serve
    still_serves small
}

test_server_killed_in_get() {
    truncate -s $large "$exported/large"
    start_client get "$address" large "$work/got"
    in_the_middle "$server"
    server_ends_in_the_middle -9
    err_has "lost the server"
    one_line
    [ ! -e "$work/got" ] || fail "$ran: its target is there"
    copy 1 ls "$address"
    err_has "talaria copy: $address: connection refused"
    one_line
    rm "$exported/large"
    serve
    still_serves small
}

test_server_ended_in_put() {
    start_client put "$work/large" "$address"
    in_the_middle "$client"
    server_ends_in_the_middle -TERM
    [ "$server_code" -eq 0 ] || fail "$ran: the server ends with $server_code"
    serve
    still_serves small
}

# A stopped server is not a failure: the client waits, and continues.
test_server_stopped() {
    head -c 300000000 /dev/zero >"$work/medium"
    kill -STOP "$server"
    start_client put "$work/medium" "$address"
    sleep 3
    has_ended "$client" && fail "$ran: did not wait for a stopped server"
    kill -CONT "$server"
    client_ends 0
    same "$work/medium" "$exported/medium"
    rm "$work/medium" "$exported/medium"
}

truncate -s $large "$work/large"
printf small >"$work/small"
serve
test_client_killed_in_put
test_client_killed_in_get
test_client_killed_while_idle
test_client_interrupted
test_bar_interrupted
test_client_too_idle
test_server_killed_in_put
test_server_killed_in_get
test_server_ended_in_put
test_server_stopped
serve_end
if wrap_without_proc; then
    serve
    test_client_killed_in_put
    test_client_interrupted
    test_server_ended_in_put
    serve_end
fi
nothing_left
finish
