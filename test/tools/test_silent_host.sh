#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Hosts that do not answer, between two network namespaces: a call to one that
# drops everything, and a connection whose host falls silent, end within the times
# of the settings, and the log has the reason; a stopped server keeps its clients.
#
#   test_silent_host.sh TALARIA PLUGIN_FOLDER PLUGIN
#
# Exit status 77 where namespaces are not permitted.
set -u
# shellcheck source=../support/namespaces.sh disable=SC1091
. "$(dirname "$0")/../support/namespaces.sh"
talaria=$1 plugin=$3
export TALARIA_PLUGIN_PATH=$2/$plugin
unset HG_LOG_LEVEL

if ! ldd "$talaria" | grep -q libsodium; then
    echo 'skipped: without libsodium files are served on the loopback only'
    exit 77
fi
folder=$(mktemp -d) || exit 1
server='' client=''
clean_up() {
    for pid in $server $client; do
        kill -KILL "$pid" 2>/dev/null
    done
    remove_namespaces
    rm -rf "$folder"
}
trap clean_up EXIT

fail() {
    echo "FAILED: $*"
    cat "$folder/out" "$folder/log" 2>/dev/null
    exit 1
}

here='' there=''
two_namespaces

# A neighbour with a hardware address that no interface has gets all packets, and
# answers none.
silence() {
    ip -n "$1" neigh replace "$2" lladdr 02:00:00:00:00:99 dev veth0 \
        nud permanent || exit 1
}

# ends_within SECONDS PATTERN: the client fails in that time; its log has PATTERN.
started=0
ends_within() {
    local took
    wait "$client" && fail 'the client succeeded'
    client=
    took=$((SECONDS - started))
    [ "$took" -le "$1" ] || fail "it took $took s, more than $1"
    grep -q 'connection: HG_HOSTUNREACH' "$folder/out" ||
        fail 'no HG_HOSTUNREACH'
    grep -q "$2" "$folder/out" || fail "the log has no \"$2\""
    echo "$2: after $took s"
}
ping() {
    ip netns exec "$here" "$talaria" ping -t 100 "$@" >"$folder/out" 2>&1 &
    client=$!
    started=$SECONDS
}

upper=$(echo "$plugin" | tr '[:lower:]' '[:upper:]')
export "TALARIA_${upper}_CONNECT_TIMEOUT=2s" "TALARIA_${upper}_HOST_TIMEOUT=3s"

silence "$here" 10.77.0.3
ping -c 1 "$plugin+tcp://10.77.0.3:5000"
ends_within 6 'error.*no answer within 2 s'

# A port without a listener, and networks without a route. Each cause is logged
# once, however often it is called.
said_once() {
    [ "$(grep -c '\[error\]' "$folder/out")" -eq 1 ] ||
        fail 'not one line of errors'
}
ping -c 1 "$plugin+tcp://10.77.0.2:1"
ends_within 6 "error.*$plugin+tcp://10.77.0.2:1: connection refused"
said_once
ip -n "$here" route add unreachable 10.78.0.0/24 || exit 1
ping -c 1 "$plugin+tcp://10.78.0.1:5000"
ends_within 6 "error.*$plugin+tcp://10.78.0.1:5000: .*[Nn]o route to host"
said_once
ping -c 1 "$plugin+tcp://10.79.0.1:5000"
ends_within 6 "error.*$plugin+tcp://10.79.0.1:5000: .*Network is unreachable"
said_once

(umask 077 && head -c 32 /dev/urandom >"$folder/token")
mkdir "$folder/exported"
ip netns exec "$there" "$talaria" copy serve "$plugin+tcp://10.77.0.2" \
    "$folder/exported" --address-file "$folder/address" \
    --token-file "$folder/token" >"$folder/log" 2>&1 &
server=$!
for ((i = 0; i < 400; i++)); do
    [ ! -s "$folder/address" ] || break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.05
done
[ -s "$folder/address" ] || fail 'the server does not start'
address=$(cat "$folder/address")

# Stopped for three times as long as its host may be silent.
ping -c 1000000 "$address"
sleep 1
kill -STOP "$server"
sleep 9
kill -CONT "$server"
sleep 1
kill -0 "$client" || fail 'a server that was stopped was taken for a dead one'
kill "$client"
wait "$client" 2>/dev/null

ping -c 1000000 "$address"
sleep 1
kill -0 "$client" || fail 'no connection'
silence "$here" 10.77.0.2
silence "$there" 10.77.0.1
started=$SECONDS
ends_within 8 'error.*no answer within [3-5] s'
