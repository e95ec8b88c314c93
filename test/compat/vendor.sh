#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The project subprojects/vendor-plugin needs nothing but what is installed, and
# works:
#
#   vendor.sh MESON BUILD_DIR SOURCE_ROOT
#
# Installs BUILD_DIR below a folder of its own. Builds a copy of the project
# beside it, by Meson and by make; runs the conformance kit over it, with --quick
# unless in a soak; uses it by TALARIA_PLUGIN_PATH, TALARIA_PLUGIN_FILES, plugins.d
# and its own installation, between processes, and between two network namespaces
# where these are permitted. Exit status 0, or 1 with what failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../abi/lib.sh disable=SC1091
. "$here/../abi/lib.sh"
# shellcheck source=stage.sh disable=SC1091
. "$here/stage.sh"

if [ $# -ne 3 ] || [ ! -d "$3/subprojects/vendor-plugin" ]; then
    echo 'usage: vendor.sh MESON BUILD_DIR SOURCE_ROOT' >&2
    exit 1
fi
meson=$1 build=$2 source_root=$3
patience=60 # seconds for what should end by itself
info=tcp+stream
for variable in ${!TALARIA_@} ${!HG_@} ${!NA_@} ${!PKG_CONFIG@} DESTDIR \
    LD_LIBRARY_PATH; do
    unset "$variable"
done

tmp=$(realpath "$(mktemp -d)") || exit 1
server=
hosts=()
clean_up() {
    [ -z "$server" ] || kill -KILL "$server" 2>/dev/null
    for host in "${hosts[@]}"; do
        ip netns del "$host" 2>/dev/null
    done
    wait 2>/dev/null
    rm -rf "$tmp"
}
trap clean_up EXIT

# must WHAT COMMAND...: if it fails, its output is shown and the script ends.
must() {
    local what=$1
    shift
    "$@" >"$tmp/output" 2>&1 && return
    fail "$what"
    tail -n 40 "$tmp/output" | sed 's/^/    /'
    [ ! -s "$tmp/server.output" ] || sed 's/^/    server: /' "$tmp/server.output"
    finish vendor.sh
}

must 'meson install' stage "$meson" "$build" "$tmp/stage"
plugins=$(pkg-config --variable=plugindir talaria-plugin)

# Both ways to build it. Neither may use the source tree.
vendor=$tmp/vendor
cp -r "$source_root/subprojects/vendor-plugin" "$vendor"
must 'meson setup, vendor' "$meson" setup "$vendor/build" "$vendor" -Dwerror=true
must 'ninja, vendor' ninja -C "$vendor/build"
must 'make, vendor' make -C "$vendor" CFLAGS='-O2 -Wall -Wextra -Werror'
cat "$tmp/output" "$vendor/build/compile_commands.json" >"$tmp/commands"
! grep -F "$source_root/" "$tmp/commands" || fail 'the source tree is needed'
for object in "$vendor/build/libna_tcp.so" "$vendor/libna_tcp.so"; do
    must "what ${object#"$vendor/"} exports" \
        "$here/../abi/symbols.sh" --plugin "$object"
    must 'talaria manifest' talaria manifest "$object" -o "$tmp/manifest.json"
    must 'the manifest differs' python3 -c 'import json, sys
a, b = (json.load(open(name)) for name in sys.argv[1:])
a["plugin"].pop("library_path"), b["plugin"].pop("library_path")
sys.exit(a != b)' "$tmp/manifest.json" "$vendor/libna_tcp.json"
done

# All repetitions in a soak only.
counts=--quick
[ "${TALARIA_TEST_SOAK-}" != 1 ] || counts=--limit=60
must 'talaria check' talaria check $counts "$vendor/build/libna_tcp.so" stream
must 'talaria check, made' talaria check --quick --case='rma_*' \
    "$vendor/libna_tcp.so" stream
tail -n 1 "$tmp/output"

# A server beyond the loopback interface, or of root, requires a token.
token=()
if ldd "$(command -v talaria)" | grep -q libsodium; then
    (umask 077 && head -c 32 /dev/urandom >"$tmp/token")
    token=(--token-file "$tmp/token")
elif [ "$(id -u)" -eq 0 ]; then
    echo 'left out: copy and perf, root without libsodium'
fi
serving=$((${#token[@]} > 0 || $(id -u) != 0))
head -c 3000001 /dev/urandom >"$tmp/file"

# start COMMAND...: starts a server, sets address.
start() {
    : >"$tmp/server.out"
    "$@" >"$tmp/server.out" 2>"$tmp/server.output" </dev/null &
    server=$!
    for ((i = 0; i < patience * 20; i++)); do
        address=$(grep -ao 'tcp+stream://[^ ]*' "$tmp/server.out" | head -n 1)
        [ -z "$address" ] || return 0
        kill -0 "$server" 2>/dev/null || break
        sleep 0.05
    done
    fail "no server: $*"
    sed 's/^/    /' "$tmp/server.output"
    finish vendor.sh
}

stop() {
    kill -TERM "$server"
    wait "$server" || fail "a server's exit status $?"
    server=
}

# use WHERE RUN HOST [FURTHER...]: runs the client's commands by RUN, the server's
# by FURTHER.
# shellcheck disable=SC2086
use() {
    local where=$1 client=$2 host=$3
    shift 3
    start "$@" talaria perf serve "${token[@]}" "$info://$host"
    must "ping, $where" $client timeout $patience talaria ping "$address"
    must "perf lat, $where" $client timeout $patience talaria perf lat \
        "${token[@]}" --rounds 1 --duration 0.1 "$address"
    must "perf bw, $where" $client timeout $patience talaria perf bw \
        "${token[@]}" --rounds 1 --duration 0.1 --size 1M "$address"
    stop
    mkdir -p "$tmp/exported"
    start "$@" talaria copy serve "$info://$host" "$tmp/exported" "${token[@]}"
    must "copy put, $where" $client timeout $patience talaria copy put \
        "${token[@]}" "$tmp/file" "$address"
    must "copy get, $where" $client timeout $patience talaria copy get \
        "${token[@]}" "$address" file "$tmp/back"
    cmp "$tmp/file" "$tmp/back" || fail "copy, $where: other bytes"
    stop
    rm -rf "$tmp/exported" "$tmp/back"
}

is_unknown() {
    if talaria info "$info" >"$tmp/output" 2>&1; then
        fail "$info is found $1"
    fi
}

is_unknown 'before it is installed'
if [ $serving -eq 1 ]; then
    export TALARIA_PLUGIN_PATH=$vendor/build
    use TALARIA_PLUGIN_PATH '' 127.0.0.1
    unset TALARIA_PLUGIN_PATH
    export TALARIA_PLUGIN_FILES=$vendor/libna_tcp.so
    use TALARIA_PLUGIN_FILES '' 127.0.0.1
    unset TALARIA_PLUGIN_FILES
    is_unknown 'without a variable'
    if plugins_d "$tmp/stage" "$vendor/libna_tcp.json" \
        "$vendor/build/libna_tcp.so"; then
        use plugins.d "$within" 127.0.0.1 "$within"
        must 'info by plugins.d' "$within" talaria info "$info"
        grep -q 'plugins\.d/libna_tcp\.json\|build/libna_tcp\.so' "$tmp/output" ||
            fail 'it was not found by plugins.d'
    else
        echo "left out: plugins.d, $(head -n 1 "$tmp/stage.output")"
    fi
fi
must 'meson install, vendor' "$meson" install -C "$vendor/build" --no-rebuild
[ -f "$plugins/libna_tcp.so" ] || fail 'not in plugindir'
must 'info' talaria info "$info"
rm "$plugins"/libna_tcp.*
must 'make install, vendor' make -C "$vendor" install
must 'info, made' talaria info "$info"

# An idle server sleeps in one thread; it survives many short clients and
# malformed ones; after it is killed, a call fails.
count() {
    find "/proc/$server/$1" -mindepth 1 -maxdepth 1 | wc -l
}

ticks() {
    awk '{ print $14 + $15 }' "/proc/$server/stat"
}

lives() {
    start talaria perf serve "${token[@]}" "$info://127.0.0.1"
    must 'ping' timeout $patience talaria ping "$address"
    local before port=${address##*:}
    before=$(count fd)
    for ((i = 0; i < 10; i++)); do
        must 'a short client' timeout $patience talaria ping \
            -c 1 "$address"
    done
    for bytes in 'GET / HTTP/1.0\r\n\r\n' \
        '\xff\xff\xff\xff\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff' \
        '\x1c\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x74\x70\x66\x72\x61\x6d\x65\x31\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff'; do
        # shellcheck disable=SC2059
        (exec 3<>"/dev/tcp/127.0.0.1/$port" && printf "$bytes" >&3 &&
            timeout $patience cat <&3 >/dev/null) ||
            fail 'a malformed client is not disconnected'
    done
    must 'ping, after malformed clients' timeout $patience talaria ping "$address"
    for ((i = 0; i < patience * 20 && $(count fd) > before; i++)); do
        sleep 0.05
    done
    [ "$(count fd)" -le "$before" ] ||
        fail "$before descriptors before the clients, $(count fd) after"
    [ "$(count task)" -eq 1 ] || fail "$(count task) threads"
    before=$(ticks)
    sleep 1
    [ $((($(ticks) - before) * 20)) -le "$(getconf CLK_TCK)" ] ||
        fail "an idle server worked for $(($(ticks) - before)) ticks of a second"
    kill -KILL "$server"
    wait "$server" 2>/dev/null
    server=
    if timeout $patience talaria ping "$address" >"$tmp/output" 2>&1; then
        fail 'a killed server answers'
    fi
    must 'several classes in one process' timeout $patience talaria perf lat \
        --local "$info" --classes 3 --rounds 1 --duration 0.1
}

two_hosts() {
    local host other
    if ! have ip; then
        echo 'left out: two hosts, no ip'
        return
    fi
    hosts=("talaria-$$-a" "talaria-$$-b")
    if ! { ip netns add "${hosts[0]}" && ip netns add "${hosts[1]}" &&
        ip -n "${hosts[0]}" link add veth0 type veth \
            peer name veth0 netns "${hosts[1]}"; } 2>"$tmp/output"; then
        echo "left out: two hosts, $(head -n 1 "$tmp/output")"
        return
    fi
    for host in 0 1; do
        ip -n "${hosts[$host]}" addr add 10.78.0.$((host + 1))/24 dev veth0
        ip -n "${hosts[$host]}" link set lo up
        ip -n "${hosts[$host]}" link set veth0 up
    done
    for ((i = 0; i < 200; i++)); do
        other=$(for host in "${hosts[@]}"; do
            ip -n "$host" link show dev veth0
        done | grep -c 'state UP')
        [ "$other" -lt 2 ] || break
        sleep 0.05
    done
    for host in 10.78.0.2 veth0:7790; do
        use "two hosts, $host" "ip netns exec ${hosts[0]}" "$host" \
            ip netns exec "${hosts[1]}"
    done
    echo "two hosts: $address"
}

if [ $serving -eq 1 ]; then
    lives
    if [ ${#token[@]} -gt 0 ]; then
        two_hosts
    else
        echo 'left out: two hosts, no libsodium for a token'
    fi
fi
finish vendor.sh
