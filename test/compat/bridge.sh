#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The project subprojects/bridge, built on what is installed, carries RPCs and
# bulk data between processes that share no transport:
#
#   bridge.sh MESON BUILD_DIR SOURCE_ROOT OTHER_DIR OTHER
#
# Installs BUILD_DIR below a folder of its own. The two transports are na+sm and
# OTHER, an info string whose plugin is in OTHER_DIR. There is a store on each, a
# bridge between them; clients of each write to the other's store and read
# back. Exit status 0, or 1 with what failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=stage.sh disable=SC1091
. "$here/stage.sh"
patience=60 # seconds for what should end by itself

if [ $# -ne 5 ] || [ ! -d "$3/subprojects/bridge" ]; then
    echo 'usage: bridge.sh MESON BUILD_DIR SOURCE_ROOT OTHER_DIR OTHER' >&2
    exit 1
fi
meson=$1 build=$2 source_root=$3 other_dir=$4 other=$5
for variable in ${!TALARIA_@} ${!HG_@} ${!NA_@} ${!PKG_CONFIG@} DESTDIR; do
    unset "$variable"
done

tmp=$(realpath "$(mktemp -d)") || exit 1
pids=()
clean_up() {
    [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null
    wait 2>/dev/null
    rm -rf "$tmp"
}
trap clean_up EXIT

fail() {
    echo "FAIL $*"
    for output in "$tmp"/*.output; do
        [ -s "$output" ] && sed "s/^/    ${output##*/}: /" "$output"
    done
    exit 1
}

stage "$meson" "$build" "$tmp/stage" || fail 'meson install'
# na+sm is found beside the library, the other one by the variable.
export TALARIA_PLUGIN_PATH=$other_dir
{
    "$meson" setup "$tmp/build" "$source_root/subprojects/bridge" &&
        ninja -C "$tmp/build"
} >"$tmp/build.output" 2>&1 || fail 'subprojects/bridge does not build'
: >"$tmp/build.output"

# start NAME LINES COMMAND...: in the background; its pid is in $pid, what it
# prints in its first lines is in ${lines[@]}.
start() {
    local name=$1 count=$2 line fd
    shift 2
    mkfifo "$tmp/$name.pipe"
    "$@" >"$tmp/$name.pipe" 2>"$tmp/$name.output" </dev/null &
    pid=$!
    pids+=("$pid")
    exec {fd}<"$tmp/$name.pipe"
    lines=()
    while [ ${#lines[@]} -lt "$count" ]; do
        read -r -t "$patience" -u "$fd" line || fail "$name prints nothing"
        lines+=("$line")
    done
    exec {fd}<&-
}

client() {
    timeout "$patience" "$tmp/build/block-client" "$@"
}

# processor_ms PID
processor_ms() {
    local fields
    read -r -a fields <"/proc/$1/stat"
    echo $(((fields[13] + fields[14]) * 1000 / $(getconf CLK_TCK)))
}

start store-sm 1 "$tmp/build/block-store" na+sm
store_sm=${lines[0]} store_sm_pid=$pid
start store-other 1 "$tmp/build/block-store" "$other"
store_other=${lines[0]} store_other_pid=$pid
start bridge 2 "$tmp/build/block-bridge" \
    na+sm "$store_sm" "$other" "$store_other"
bridge_pid=$pid
case "${lines[0]%% *}${lines[1]%% *}" in
12) ;;
*) fail "the bridge prints '${lines[*]}'" ;;
esac
bridge_sm=${lines[0]#1 } bridge_other=${lines[1]#2 }

: >"$tmp/empty"
head -c 700 /dev/urandom >"$tmp/small"
head -c 3000001 /dev/urandom >"$tmp/large"
for file in empty small large; do
    client "$other" "$bridge_other" write "to-sm-$file" "$tmp/$file" \
        2>"$tmp/client.output" || fail "writing $file from $other"
    client na+sm "$bridge_sm" write "to-other-$file" "$tmp/$file" \
        2>"$tmp/client.output" || fail "writing $file from na+sm"
    # over the bridge, and at the store itself
    while read -r info address name; do
        client "$info" "$address" read "$name" "$tmp/back" \
            2>"$tmp/client.output" || fail "reading $name over $address"
        cmp -s "$tmp/$file" "$tmp/back" || fail "$name is not what it was"
        rm "$tmp/back"
    done <<-END
	$other $bridge_other to-sm-$file
	na+sm $store_sm to-sm-$file
	na+sm $bridge_sm to-other-$file
	$other $store_other to-other-$file
	END
done

# Both ways at once.
workers=()
for i in 1 2 3 4 5 6; do
    for info in na+sm "$other"; do
        address=$bridge_sm
        [ "$info" = na+sm ] || address=$bridge_other
        (
            client "$info" "$address" write "many-$i" "$tmp/large" &&
                client "$info" "$address" read "many-$i" "$tmp/many-$i-$info" &&
                cmp "$tmp/large" "$tmp/many-$i-$info"
        ) 2>"$tmp/many-$i-$info.output" &
        workers+=($!)
    done
done
for worker in "${workers[@]}"; do
    wait "$worker" || fail 'one of several clients at once'
done

# Errors of the far side return to the client.
client na+sm "$bridge_sm" read nothing "$tmp/back" 2>"$tmp/client.output" &&
    fail 'a block that does not exist can be read'
grep -q 'nothing: .*NOENTRY' "$tmp/client.output" || fail 'not NOENTRY'
truncate -s 64M "$tmp/huge"
echo >>"$tmp/huge"
client "$other" "$bridge_other" write huge "$tmp/huge" 2>"$tmp/client.output" &&
    fail 'too large a block is taken'
grep -q 'huge: .*OVERFLOW' "$tmp/client.output" || fail 'not OVERFLOW'
for output in bridge store-sm store-other; do
    [ -s "$tmp/$output.output" ] && fail "$output complains"
done

before=$(processor_ms "$bridge_pid")
sleep 1
idle=$(($(processor_ms "$bridge_pid") - before))
[ $idle -le 50 ] || fail "an idle bridge worked for $idle ms of a second"

kill -KILL "$store_sm_pid"
wait "$store_sm_pid" 2>/dev/null
client "$other" "$bridge_other" read to-sm-small "$tmp/back" \
    2>"$tmp/client.output" && fail 'a dead store answers'
grep -Eq 'to-sm-small: .*(HOSTUNREACH|IO_ERROR)' "$tmp/client.output" ||
    fail 'no message that the store is dead'
client na+sm "$bridge_sm" read to-other-small "$tmp/back" \
    2>"$tmp/client.output" || fail 'the other direction, after that'

for pid in "$bridge_pid" "$store_other_pid"; do
    kill -TERM "$pid"
    timeout "$patience" tail --pid="$pid" -f /dev/null ||
        fail 'it does not end'
    wait "$pid" || fail "exit status $?"
done
echo 'bridge.sh: ok'
