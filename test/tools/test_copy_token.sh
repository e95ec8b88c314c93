#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# talaria copy over transports that other machines may reach: bound to the
# loopback address or with a token, and the rules for tokens.
#
#   test_copy_token.sh BUILD_DIR
. "$(dirname "$0")/test_copy_common.sh"

: >"$server_err"
if [ "$(ldd "$talaria" | grep -c libsodium)" -eq 0 ]; then
    ran="copy without libsodium"
    printf '%016d' 1 >"$work/token"
    chmod 600 "$work/token"
    copy 1 ls --token-file "$work/token" na+sm://1-0
    err_has "built without libsodium"
    [ "$failures" -eq 0 ] || finish
    echo "skipped: this talaria was built without libsodium"
    exit 77
fi
export TALARIA_PLUGIN_PATH=$build/plugins/sm:$build/test/tools
export WIRE_SCOPE=${work##*-} # test_perf_token.sh binds 127.0.0.1 too

umask 077
# Without an end of line of its own, which would be taken off with the other one.
head -c 32 /dev/urandom | tr '\n\r' ab >"$work/token"
cp "$work/token" "$work/copy"
printf '\n' >>"$work/copy" # what an editor puts there
head -c 32 /dev/urandom >"$work/other"
umask 022
printf small >"$work/small"

# refused INFO TEXT OPTION...: the server does not start.
refused() {
    local info=$1 text=$2 patience=5
    shift 2
    copy 1 serve "$info" "$exported" "$@"
    err_has "$text"
    ! grep -q '^address' "$out" || fail "$ran: prints an address"
}

test_loopback_alone() {
    local host
    become_ordinary || return
    for host in node7 0.0.0.0 10.0.0.1 128.0.0.1 eth0 1.127.0.0 eth0/127.0.0.1 \
        eth0/ loo/127.0.0.1 l/localhost lo/10.0.0.1 lo/node7; do
        refused "net+good://$host" "--token-file is required"
    done
    # A name that should be a loopback address, and here is not.
    for host in localhost lo/localhost; do
        refused "net+good://$host" "is not a loopback address"
    done
    info=net+good serve
    [ "$address" = net+good://127.0.0.1 ] || fail "is bound to $address"
    works
    serve_end
    for host in lo lo/ lo/lo lo/127.0.0.1; do
        info=net+good://$host serve
        [ "$address" = net+good://127.0.0.1 ] || fail "is bound to $address"
        serve_end
    done
    for host in 127.9.0.1 lo/127.9.0.1; do
        info=net+good://$host serve
        [ "$address" = net+good://127.9.0.1 ] || fail "is bound to $address"
        serve_end
    done
    become_oneself
}

# Where the info string or a setting admits peers of any user, loopback or not.
test_any_user() {
    local host
    for host in any/ any/name; do
        refused "na+sm://$host" \
            "any user of this machine can reach that address"
    done
    TALARIA_SM_ANY_USER=1 refused na+sm \
        "any user of this machine can reach that address"
}

# A server of root needs a token, even on the loopback address, which every user
# can reach. na+sm admits the same user only.
test_root() {
    local host
    if [ "$(id -u)" -ne 0 ]; then
        echo "left out: a server of root"
        return
    fi
    for host in '' ://127.0.0.1 ://localhost ://lo ://lo/127.9.0.1; do
        refused "net+good$host" "act as root: --token-file is required"
    done
    refused net+good://node7 "other machines can reach that address"
    info=na+sm serve
    works
    serve_end
}

# works OPTION...: what clients do.
works() {
    rm -rf "$exported/small" "$work/back"
    copy 0 put "$@" "$work/small" "$address"
    copy 0 ls "$@" "$address"
    out_has " small"
    copy 0 stat "$@" small "$address"
    copy 0 get "$@" "$address" small "$work/back"
    same "$work/small" "$work/back"
    copy 0 rm "$@" small "$address"
    [ ! -e "$exported/small" ] || fail "$ran: it is still there"
}

# denied TEXT OPTION...: clients are denied every access.
denied() {
    local text=$1
    shift
    printf kept >"$exported/kept"
    copy 1 put "$@" "$work/small" "$address"
    err_has "$text"
    copy 1 get "$@" "$address" kept "$work/back"
    err_has "$text"
    copy 1 ls "$@" "$address"
    err_has "$text"
    [ ! -s "$out" ] || fail "$ran: prints something"
    copy 1 stat "$@" kept "$address"
    err_has "$text"
    copy 1 rm "$@" kept "$address"
    err_has "$text"
    [ ! -e "$exported/small" ] || fail "$ran: it is there"
    [ "$(cat "$exported/kept")" = kept ] || fail "$ran: it was changed or removed"
    [ ! -e "$work/back" ] || fail "$ran: it was fetched"
    rm "$exported/kept"
}

# In one line, or in several.
five_refused() {
    awk '/^talaria copy: [0-9]+ clients? without/ { sum += $3 }
        END { exit sum != 5 }' "$server_err"
}

test_token() {
    rm -rf "$work/back"
    denied "permission denied: the server requires a token"
    [ ! -s "$server_err" ] || fail "the server printed errors"
    denied "permission denied: the server has another token" \
        --token-file "$work/other"
    until_true 10 five_refused || fail "the server does not log it"
    : >"$server_err"
    works --token-file "$work/token"
    works --token-file "$work/copy"
    # A ping needs none.
    timeout 60 "$talaria" ping "$address" >"$out" 2>"$err" ||
        fail "ping gets no answer"
}

# A client with a token doesn't talk to a server without.
test_server_without() {
    serve
    rm -rf "$work/back"
    denied "the server has no token" --token-file "$work/token"
    works
    serve_end
}

# Neither side sends or logs it, at any log level.
test_silence() {
    local words=PINEAPPLE_upside_down_cake
    (umask 077 && printf '%s' "$words" >"$work/words")
    export HG_LOG_LEVEL=debug
    serve --token-file "$work/words"
    copy 0 ls --token-file "$work/words" "$address"
    ! grep -q PINEAPPLE "$out" "$err" || fail "$ran: prints the token"
    copy 1 ls --token-file "$work/other" "$address"
    serve_end
    unset HG_LOG_LEVEL
    [ -s "$server_err" ] || fail "nothing was logged at all"
    ! grep -q PINEAPPLE "$work/serve_out" "$server_err" ||
        fail "the server prints the token"
}

test_files() {
    local name
    head -c 15 /dev/urandom | tr '\n\r' ab >"$work/short"
    head -c 4097 /dev/urandom | tr '\n\r' ab >"$work/long"
    head -c 100000 /dev/urandom >"$work/longer"
    : >"$work/empty"
    printf '\r\n' >"$work/line"
    mkfifo "$work/fifo"
    chmod 600 "$work/short" "$work/long" "$work/longer" "$work/empty" \
        "$work/line" "$work/fifo"
    for name in short empty line; do
        refused na+sm "$name: is too short" --token-file "$work/$name"
    done
    for name in long longer; do
        refused na+sm "$name: is too long" --token-file "$work/$name"
    done
    refused na+sm "fifo: is not a regular file" --token-file "$work/fifo"
    refused na+sm "is not a regular file" --token-file "$work"
    refused na+sm "none: No such file" --token-file "$work/none"
    cp "$work/token" "$work/open"
    for name in 640 604 620 602; do
        chmod $name "$work/open"
        refused na+sm "accessible to other users" --token-file "$work/open"
        copy 1 ls --token-file "$work/open" na+sm://1-0
        err_has "accessible to other users"
    done
    chmod 600 "$work/open"
    if [ "$(id -u)" -eq 0 ] && chown 65534 "$work/open"; then
        refused na+sm "belongs to another user" --token-file "$work/open"
    else
        echo "left out: no file of another user"
    fi
    # The bounds themselves are valid.
    head -c 16 /dev/urandom | tr '\n\r' ab >"$work/short"
    head -c 4096 /dev/urandom | tr '\n\r' ab >"$work/long"
    for name in short long; do
        serve --token-file "$work/$name"
        works --token-file "$work/$name"
        serve_end
    done
}

test_loopback_alone
test_any_user
become_ordinary && test_any_user && become_oneself
test_root
# A unique name: another run may be in progress.
for info in "net+good://node${work##*-}" net+good na+sm na+sm://any/; do
    serve --token-file "$work/token"
    test_token
    serve_end
done
info=na+sm
test_server_without
test_silence
test_files
nothing_left
finish
