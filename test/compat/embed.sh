#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The projects subprojects/embed-libuv and embed-asyncio, built on what is
# installed: an RPC server and a TCP server in one loop of libuv or asyncio.
#
#   embed.sh libuv|asyncio MESON BUILD_DIR SOURCE_ROOT OTHER_DIR OTHER
#
# Installs BUILD_DIR below a folder of its own. Over na+sm and over OTHER, an info
# string whose plugin is in OTHER_DIR: calls are answered while the loop also
# serves TCP; the idle server has one thread and takes no processor time; after
# SIGTERM it answers the accepted requests and ends. Exit status 0, 1 with what
# failed, or 77 without libuv.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=stage.sh disable=SC1091
. "$here/stage.sh"
patience=60 # seconds for what should end by itself

if [ $# -ne 6 ] || [ ! -d "$4/subprojects/embed-$1" ]; then
    echo 'usage: embed.sh libuv|asyncio MESON BUILD_DIR SOURCE_ROOT OTHER_DIR' \
        'OTHER' >&2
    exit 1
fi
loop=$1 meson=$2 build=$3 source_root=$4 other_dir=$5 other=$6
for variable in ${!TALARIA_@} ${!HG_@} ${!NA_@} ${!PKG_CONFIG@} DESTDIR; do
    unset "$variable"
done
if [ "$loop" = libuv ] && ! pkg-config --exists libuv; then
    echo 'skipped: pkg-config knows no libuv'
    exit 77
fi

tmp=$(realpath "$(mktemp -d)") || exit 1
pid=
clean_up() {
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null
    wait 2>/dev/null
    rm -rf "$tmp"
}
trap clean_up EXIT

fail() {
    echo "FAIL $*"
    for output in "$tmp"/*.output; do
        [ -s "$output" ] && tail -n 40 "$output" | sed "s/^/    ${output##*/}: /"
    done
    exit 1
}

stage "$meson" "$build" "$tmp/stage" || fail 'meson install'
# na+sm is found beside the library, the other one by the variable.
export TALARIA_PLUGIN_PATH=$other_dir
if [ "$loop" = libuv ]; then
    {
        "$meson" setup "$tmp/build" "$source_root/subprojects/embed-libuv" \
            -Dwerror=true && ninja -C "$tmp/build"
    } >"$tmp/build.output" 2>&1 || fail 'subprojects/embed-libuv does not build'
    : >"$tmp/build.output"
    server=("$tmp/build/uv-server") client=("$tmp/build/uv-client")
    refused=INVALID_ARG
else
    cp -r "$source_root/subprojects/embed-asyncio" "$tmp/build"
    server=(python3 -B "$tmp/build/server.py")
    client=(python3 -B "$tmp/build/client.py")
    refused='exceeds 10000 ms'
fi

# ms of processor time that the server has taken.
processor_ms() {
    local fields
    read -r -a fields <"/proc/$pid/stat"
    echo $(((fields[13] + fields[14]) * 1000 / $(getconf CLK_TCK)))
}

tcp_line() {
    local line fd
    exec {fd}<>"/dev/tcp/127.0.0.1/$port" || fail 'no TCP connection'
    read -r -t "$patience" -u "$fd" line || fail 'no line over TCP'
    exec {fd}>&-
    echo "$line"
}

# await_line TEXT: until the server prints it. An answer is pending until the client's
# acknowledgement arrives, which may be after the client has ended.
await_line() {
    local line deadline=$((SECONDS + patience))
    until line=$(tcp_line) || exit 1; [ "$line" = "$1" ]; do
        [ "$SECONDS" -lt "$deadline" ] || fail "$info: \"$line\" over TCP, not \"$1\""
        sleep 0.05
    done
}

# call TEXT DELAY_MS COUNT: what the client prints.
call() {
    timeout "$patience" "${client[@]}" "$info" "$address" "$@" \
        2>"$tmp/client.output"
}

run() {
    local info=$1 before idle
    mkfifo "$tmp/pipe"
    "${server[@]}" "$info" >"$tmp/pipe" 2>"$tmp/server.output" &
    pid=$!
    exec {lines}<"$tmp/pipe"
    rm "$tmp/pipe"
    read -r -t "$patience" -u "$lines" address &&
        read -r -t "$patience" -u "$lines" port || fail "$info: no server"

    [ "$(call hello 0 1)" = 1 ] || fail "$info: the first call"
    [ "$(call "$(head -c 20000 /dev/zero | tr '\0' x)" 100 200)" = 200 ] ||
        fail "$info: 200 calls at once"
    await_line 'served 201, pending 0'
    call hello 10001 1 >/dev/null && fail "$info: a delay beyond the limit is accepted"
    grep -q "$refused" "$tmp/client.output" || fail "$info: not $refused"

    # TCP is served while calls keep the loop busy.
    call hello 0 "$many" >"$tmp/busy" &
    local busy=$!
    until [ "$(tcp_line)" != 'served 201, pending 0' ]; do
        kill -0 $busy 2>/dev/null || fail "$info: calls are not answered"
    done
    wait $busy || fail "$info: $many calls"

    [ "$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)" -eq 1 ] ||
        [ "$info" != na+sm ] || fail "$info: the server has several threads"
    before=$(processor_ms)
    sleep 1
    idle=$(($(processor_ms) - before))
    [ $idle -le 50 ] || fail "$info: idle, it worked for $idle ms of a second"

    call late 9000 3 >"$tmp/late" &
    local late=$!
    until [ "$(tcp_line)" = "served $((201 + many)), pending 3" ]; do
        kill -0 $late 2>/dev/null || fail "$info: the late calls ended"
    done
    kill -TERM "$pid"
    wait $late || fail "$info: calls under way when the server stops"
    timeout "$patience" tail --pid="$pid" -f /dev/null ||
        fail "$info: the server does not end"
    wait "$pid" || fail "$info: exit status $?"
    pid=
    exec {lines}<&-
    [ ! -s "$tmp/server.output" ] || fail "$info: the server complains"
}

many=50000
[ "$loop" = libuv ] || many=5000
run na+sm
run "$other"
echo "embed.sh $loop: ok"
