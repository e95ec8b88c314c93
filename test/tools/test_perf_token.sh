#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# talaria perf over transports that others may reach: bound to the loopback address
# or with a token, which both sides prove to know without sending it.
#
#   test_perf_token.sh BUILD_DIR
# shellcheck disable=SC2154 # folder, out, err
. "$(dirname "$0")/lib.sh"
build=${1:?usage: $0 BUILD_DIR}
if [ "$(ldd "$TALARIA" | grep -c libsodium)" -eq 0 ]; then
    echo "skipped: this talaria was built without libsodium"
    exit 77
fi
export TALARIA_PLUGIN_PATH="$build/plugins/sm:$build/test/tools"
export WIRE_SCOPE="${folder##*-}" # test_copy_token.sh binds 127.0.0.1 too
export ASAN_OPTIONS="exitcode=99${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="halt_on_error=1:exitcode=99"
server=
brief='--rounds 1 --warm-up 0 --operations 20'
trap 'kill -9 $server 2>/dev/null; rm -rf "$folder"' EXIT
: >"$out"
: >"$err"

# random NAME: creates a token file.
random() { (umask 077 && head -c 32 /dev/urandom >"$folder/$1"); }

# refused INFO TEXT OPTION...: the server does not start.
refused() {
    info=$1
    text=$2
    shift 2
    ran="perf serve $info $*"
    timeout 10 "$TALARIA" perf serve "$info" "$@" >"$out" 2>"$err"
    code=$?
    [ "$code" -eq 1 ] || fail "$ran: exit code $code, not 1"
    err_has "$text"
    out_empty
}

# serve INFO OPTION...: sets server and address.
serve() {
    : >"$folder/address"
    "$TALARIA" perf serve "$@" >"$folder/address" 2>"$folder/server" &
    server=$!
    tries=6000 # two minutes; the server ends if it cannot serve
    until [ -s "$folder/address" ]; do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ] || ! kill -0 "$server" 2>/dev/null; then
            cp "$folder/server" "$err"
            fail "serve $*: no address"
            exit 1
        fi
        sleep 0.02
    done
    address=$(cat "$folder/address")
}

serve_end() {
    kill "$server"
    wait "$server"
    code=$?
    [ "$code" -eq 0 ] || fail "the server ends with $code"
    server=
}

# measures OPTION...: a measurement at each of the levels.
levels='na rpc bulk'
measures() {
    for level in $levels; do
        # shellcheck disable=SC2086 # words
        run 0 perf lat --level "$level" "$@" $brief
        err_empty
    done
}

# denied TEXT OPTION...: nothing is measured.
denied() {
    text=$1
    shift
    # shellcheck disable=SC2086 # words
    run 1 perf lat "$@" "$address" $brief
    err_has "$text"
    out_empty
}

random token
random other
for host in node7 0.0.0.0 10.0.0.1 eth0 eth0/127.0.0.1 lo/node7; do
    refused "net+good://$host" "other machines can reach that address: --token-file is required"
done
for host in localhost lo/localhost; do
    refused "net+good://$host" "is not a loopback address"
done
for host in any/ any/name; do
    refused "na+sm://$host" "any user of this machine can reach that address: --token-file is required"
done
export TALARIA_SM_ANY_USER=1
refused na+sm "any user of this machine can reach that address"
unset TALARIA_SM_ANY_USER
refused na+sm "No such file" --token-file "$folder/none"
: >"$folder/empty"
chmod 600 "$folder/empty"
refused na+sm "too short" --token-file "$folder/empty"
cp "$folder/token" "$folder/open"
chmod 640 "$folder/open"
refused na+sm "accessible to other users" --token-file "$folder/open"
run 1 perf lat --token-file "$folder/open" na+sm://1-0
err_has "accessible to other users"
run 2 perf lat --token-file "$folder/token" --local na+sm
err_has "--local needs none"

# No token for loopback, and for --local with any address.
serve net+good
[ "$address" = net+good://127.0.0.1 ] || fail "is bound to $address"
denied "the server has no token" --token-file "$folder/token"
serve_end
# An address of this machine other than loopback, where ofi is built.
outside=
if [ -e "$build/plugins/ofi/libna_ofi.so" ]; then
    TALARIA_PLUGIN_PATH=$TALARIA_PLUGIN_PATH:$build/plugins/ofi
    host=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -v : | head -n 1)
    [ -z "$host" ] || outside=ofi+tcp://$host
    levels=rpc
    for host in '' ://127.0.0.1; do
        measures --local "ofi+tcp$host"
    done
    serve ofi+tcp
    case $address in
    "ofi+tcp"*"://127.0.0.1:"*) ;;
    *) fail "is bound to $address" ;;
    esac
    measures "$address"
    serve_end
fi
[ -n "$outside" ] || echo "left out: no ofi, or only loopback addresses"
[ -z "$outside" ] || measures --local "$outside"
levels='na rpc bulk'
measures --local na+sm://any/

# With this plugin the name is the whole address: it must be unique, also among
# other runs in progress.
serve "net+good://node${folder##*-}" --token-file "$folder/token"
denied "permission denied: the server requires a token; see --token-file"
denied "permission denied: the server has another token" \
    --token-file "$folder/other"
denied "cannot open the transport" --token-file "$folder/token"
serve_end
for info in na+sm na+sm://any/ $outside; do
    serve "$info" --token-file "$folder/token"
    denied "permission denied: the server requires a token; see --token-file"
    denied "permission denied: the server has another token" \
        --token-file "$folder/other"
    tries=400
    until [ "$(cat "$folder/server")" = \
        "talaria perf serve: 1 client without the right token" ]; do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ]; then
            fail "the server logs: $(cat "$folder/server")"
            break
        fi
        sleep 0.02
    done
    [ "$info" != "$outside" ] || levels=rpc
    measures --token-file "$folder/token" "$address"
    serve_end
done

# Neither side sends or logs it, at any log level.
(umask 077 && printf PINEAPPLE_upside_down_cake >"$folder/words")
export HG_LOG_LEVEL=debug
serve na+sm --token-file "$folder/words"
# shellcheck disable=SC2086 # words
run 0 perf lat --token-file "$folder/words" "$address" $brief
[ -s "$err" ] || fail "nothing was logged at all"
run 1 perf lat --token-file "$folder/other" "$address"
serve_end
unset HG_LOG_LEVEL
! grep -q PINEAPPLE "$out" "$err" "$folder/server" "$folder/address" ||
    fail "a process prints the token"
finish
