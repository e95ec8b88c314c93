#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Files copied over ofi+tcp between two network namespaces, each with one end of
# a pair of virtual interfaces, by an address and by the interface's name:
# two_hosts.sh TALARIA. Exit status 77 where namespaces are not permitted.
set -u
talaria=$1

if ! command -v ip >/dev/null || ! command -v unshare >/dev/null; then
    echo 'skipped: no ip or unshare'
    exit 77
fi
if ! ldd "$talaria" | grep -q libsodium; then
    echo 'skipped: without libsodium files are served on the loopback only'
    exit 77
fi
here=talaria-$$-a
there=talaria-$$-b
folder=$(mktemp -d) || exit 1
server=
clean_up() {
    [ -z "$server" ] || kill "$server" 2>/dev/null
    ip netns del "$here" 2>/dev/null
    ip netns del "$there" 2>/dev/null
    rm -rf "$folder"
}
trap clean_up EXIT

if ! { ip netns add "$here" && ip netns add "$there" &&
    ip -n "$here" link add veth0 type veth peer name veth0 netns "$there"
} 2>"$folder/why"; then
    echo "skipped: $(cat "$folder/why")"
    exit 77
fi
set -e
ip -n "$here" addr add 10.77.0.1/24 dev veth0
ip -n "$there" addr add 10.77.0.2/24 dev veth0
for name in "$here" "$there"; do
    ip -n "$name" link set lo up
    ip -n "$name" link set veth0 up
done
for name in "$here" "$there"; do
    for ((i = 0; i < 200; i++)); do
        ! ip -n "$name" link show dev veth0 | grep -q 'state UP' || break
        sleep 0.05
    done
done

mkdir "$folder/exported"
(umask 077 && head -c 32 /dev/urandom >"$folder/token")
head -c 20000000 /dev/urandom >"$folder/file"
for host in 10.77.0.2 veth0; do
    rm -f "$folder/address"
    ip netns exec "$there" "$talaria" copy serve "ofi+tcp://$host" \
        "$folder/exported" --address-file "$folder/address" \
        --token-file "$folder/token" \
        >"$folder/log" 2>&1 &
    server=$!
    for ((i = 0; i < 400; i++)); do
        [ ! -s "$folder/address" ] || break
        kill -0 "$server" 2>/dev/null || break
        sleep 0.05
    done
    [ -s "$folder/address" ] || { cat "$folder/log"; exit 1; }
    address=$(cat "$folder/address")
    ip netns exec "$here" "$talaria" copy put --token-file "$folder/token" \
        "$folder/file" "$address" ||
        { cat "$folder/log"; exit 1; }
    ip netns exec "$here" "$talaria" copy get --token-file "$folder/token" \
        "$address" file "$folder/back" ||
        { cat "$folder/log"; exit 1; }
    cmp "$folder/file" "$folder/exported/file"
    cmp "$folder/file" "$folder/back"
    rm -rf "$folder/back" "$folder/exported/file"
    kill "$server"
    wait "$server" || true
    server=
    echo "$address: 20 MB there and back"
done
