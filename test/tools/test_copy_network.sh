#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# talaria copy over a transport that reaches other machines: it listens only on the
# loopback interface, or with a token, copies what na+sm copies, and detects dead
# peers.
#
#   test_copy_network.sh BUILD_DIR PLUGIN PROTOCOL
. "$(dirname "$0")/test_copy_common.sh"

plugin=${2:?}
info=$plugin+${3:?}
tree=$work/tree
: >"$server_err"
if [ ! -e "$build/plugins/$plugin/libna_$plugin.so" ]; then
    echo "skipped: the plugin $plugin is not built here"
    exit 77
fi
export TALARIA_PLUGIN_PATH=$build/plugins/$plugin
if ! "$talaria" info "$info" >"$out" 2>"$err"; then
    echo "skipped: $info can't be opened here: $(tail -n 1 "$err")"
    exit 77
fi
tokens=$(ldd "$talaria" | grep -c libsodium)
# A server run by root requires a token here.
token=()
if [ "$(id -u)" -eq 0 ]; then
    if [ "$tokens" -eq 0 ]; then
        echo "skipped: root, and no libsodium for a token"
        exit 77
    fi
    (umask 077 && head -c 32 /dev/urandom >"$work/own_token")
    token=(--token-file "$work/own_token")
fi

make_tree() {
    local i
    mkdir -p "$tree/a/b" "$tree/empty"
    for i in $(seq 1 40); do
        head -c $((i * i * 300)) /dev/urandom >"$tree/a/f$i"
    done
    : >"$tree/a/b/none"
    head -c 9000000 /dev/urandom >"$tree/large"
    truncate -s 3000000 "$tree/hole"
    ln -s a/b "$tree/link"
    chmod 750 "$tree/a"
}

# The hosts that the server listens at, in the numbers of /proc.
listening_at() {
    local inode
    find "/proc/$server/fd" -lname 'socket:*' -printf '%l\n' |
        tr -dc '0-9\n' | while read -r inode; do
        awk -v inode="$inode" '$10 == inode && $4 == "0A" {
            sub(/:.*/, "", $2); print $2 }' /proc/net/tcp /proc/net/tcp6
    done | sort -u | tr '\n' ' '
}

test_loopback() {
    local there
    become_ordinary || return
    serve
    case $address in
    "$info"*"://127.0.0.1:"*) ;;
    *) fail "an address of its own choice: $address" ;;
    esac
    there=$(listening_at)
    [ -z "${there//0100007F /}" ] || fail "listens at $there"
    "$talaria" ping "$address" >"$out" 2>"$err" || fail "ping gets no answer"
    copy 0 ls "$address"
    serve_end
    become_oneself
    if [ "$(id -u)" -eq 0 ]; then
        copy 1 serve "$info" "$exported"
        err_has "act as root: --token-file is required"
    fi
    for host in 0.0.0.0 192.0.2.1 "[::]" nowhere.invalid; do
        copy 1 serve "$info://$host" "$exported"
        err_has "--token-file is required"
    done
}

test_trees() {
    serve "${token[@]}"
    copy 0 put "${token[@]}" "$tree" "$address"
    err_empty
    same "$tree" "$exported/tree"
    copy 0 get "${token[@]}" "$address" tree "$work/back"
    err_empty
    same "$tree" "$work/back"
    copy 1 put "${token[@]}" "$tree/large" --into tree "$address"
    err_has "exists already"
    rm "$exported/tree/large"
    copy 0 put "${token[@]}" --resume "$tree" "$address"
    out_has "put: 1 files"
    same "$tree" "$exported/tree"
    copy 0 put "${token[@]}" --force "$tree" "$address"
    copy 0 ls "${token[@]}" "$address" tree/a
    [ "$(wc -l <"$out")" -eq 41 ] || fail "$ran: $(wc -l <"$out") lines"
    copy 0 rm "${token[@]}" -r tree "$address"
    [ ! -e "$exported/tree" ] || fail "$ran: it is still there"
    rm -rf "$work/back"
    serve_end
}

test_several() {
    local i pids=()
    serve "${token[@]}"
    for i in 1 2 3 4; do
        "$talaria" copy put "${token[@]}" --into "c$i" "$tree" "$address" \
            >"$work/out.$i" 2>"$work/err.$i" &
        pids+=($!)
    done
    for i in 1 2 3 4; do
        wait "${pids[i - 1]}" || fail "client $i: $(cat "$work/err.$i")"
        same "$tree" "$exported/c$i/tree"
    done
    rm -rf "$exported"/c*
    serve_end
}

# An address of this machine other than loopback, if it has one.
other_host() { hostname -I 2>/dev/null | tr ' ' '\n' | grep -v : | head -n 1; }

test_token() {
    local host usual=$info
    host=$(other_host)
    if [ "$tokens" -eq 0 ] || [ -z "$host" ]; then
        echo "left out: no libsodium, or only loopback addresses"
        return
    fi
    (umask 077 && head -c 32 /dev/urandom >"$work/token" &&
        head -c 32 /dev/urandom >"$work/other")
    info=$info://$host
    serve --token-file "$work/token"
    copy 1 ls "$address"
    err_has "permission denied"
    copy 1 put --token-file "$work/other" "$tree" "$address"
    err_has "permission denied"
    copy 0 put --token-file "$work/token" "$tree" "$address"
    same "$tree" "$exported/tree"
    copy 0 rm --token-file "$work/token" -r tree "$address"
    serve_end
    info=$usual
}

has_moved() {
    local bytes
    bytes=$(sed -n 's/^rchar: //p' "/proc/$1/io" 2>/dev/null)
    [ "${bytes:-0}" -ge $((64 << 20)) ]
}

has_dropped() { grep -q '^talaria copy: client [0-9]*: ' "$server_err"; }

# Either side is killed during a transfer.
test_kill() {
    local client
    truncate -s $((64 << 30)) "$work/huge"
    serve "${token[@]}"
    "$talaria" copy put "${token[@]}" "$work/huge" "$address" >"$out" 2>"$err" &
    client=$!
    ran="a put"
    until_true 30 has_moved $client || fail "$ran: did not reach its middle"
    kill -9 $client
    wait $client 2>/dev/null
    until_true 15 has_dropped || fail "$ran: the server does not notice"
    copy 0 put "${token[@]}" "$tree/large" "$address"
    same "$tree/large" "$exported/large"
    "$talaria" copy put "${token[@]}" "$work/huge" "$address" >"$out" 2>"$err" &
    client=$!
    ran="another put"
    until_true 30 has_moved $client || fail "$ran: did not reach its middle"
    kill -9 "$server"
    wait "$server" 2>/dev/null
    wait_code $client 15
    [ "$waited" = 1 ] || fail "$ran: ended with $waited, not 1"
    err_has "lost the server"
    [ "$(ls -A "$exported")" = large ] || fail "left: $(ls -A "$exported")"
    rm "$work/huge"
}

make_tree
test_loopback
test_trees
test_several
test_token
test_kill
nothing_left
finish
