#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Files copied over ofi+tcp between two network namespaces, each with one end of
# a pair of virtual interfaces, by an address and by the interface's name:
# two_hosts.sh TALARIA. Exit status 77 where namespaces are not permitted.
set -u
# shellcheck source=../support/namespaces.sh disable=SC1091
. "$(dirname "$0")/../support/namespaces.sh"
talaria=$1

if ! ldd "$talaria" | grep -q libsodium; then
    echo 'skipped: without libsodium files are served on the loopback only'
    exit 77
fi
folder=$(mktemp -d) || exit 1
server=
clean_up() {
    [ -z "$server" ] || kill "$server" 2>/dev/null
    remove_namespaces
    rm -rf "$folder"
}
trap clean_up EXIT

here='' there=''
two_namespaces
set -e

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
