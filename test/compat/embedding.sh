#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The programs of docs/embedding.md work as described there:
#
#   embedding.sh PAGE BUILD_DIR SOURCE_ROOT CC...
#
# The server in a GLib loop answers over na+sm, is idle without processor time,
# and ends on SIGTERM; the program with a plugin inside registers it. Exit status
# 0, 1 with what failed, or 77 without GLib.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../abi/lib.sh disable=SC1091
. "$here/../abi/lib.sh"
patience=60 # seconds for whatever should end by itself

if [ $# -lt 4 ] || [ ! -f "$1" ]; then
    fail 'usage: embedding.sh PAGE BUILD_DIR SOURCE_ROOT CC...'
    finish embedding.sh
fi
page=$1 build=$2 source_root=$3
shift 3
cc=("$@")
if ! pkg-config --exists glib-2.0; then
    echo 'skipped: pkg-config knows no glib-2.0'
    exit 77
fi
tmp=$(realpath "$(mktemp -d)") || exit 1
pid=
clean_up() {
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null
    rm -rf "$tmp"
}
trap clean_up EXIT

awk -v dir="$tmp/program" '
    /^```c$/ { number++; inside = 1; next }
    /^```/ { inside = 0 }
    inside { print > (dir number ".c") }' "$page"
if [ ! -s "$tmp/program2.c" ] || [ -e "$tmp/program3.c" ]; then
    fail 'the page does not have two programs'
fi

# compile PROGRAM ARGUMENT...
compile() {
    local program=$1
    shift
    "${cc[@]}" -Wall -Werror -O1 -o "$tmp/$program" "$tmp/$program.c" \
        -isystem "$source_root/core/include" -isystem "$source_root/abi" \
        -isystem "$build/core/include" "$@" >"$tmp/output" 2>&1 && return
    fail "$program does not compile"
    cat "$tmp/output"
    finish embedding.sh
}
# shellcheck disable=SC2046 # options, a word each
compile program1 $(pkg-config --cflags --libs glib-2.0) \
    -L"$build/core" -ltalaria
compile program2 "$build/plugins/libtalaria-sm.a" \
    "$build/plugins/common/libtalaria-plugin.a" \
    -L"$build/core" -ltalaria -lsodium -lpthread

export LD_LIBRARY_PATH=$build/core TALARIA_PLUGIN_PATH=$build/plugins/sm
timeout "$patience" "$tmp/program2" || fail 'the plugin inside is not registered'

# clock ticks of processor time that the server has taken
processor_time() {
    local fields
    read -r -a fields <"/proc/$pid/stat"
    echo $((fields[13] + fields[14]))
}

"$tmp/program1" na+sm >"$tmp/address" 2>"$tmp/output" &
pid=$!
until [ -s "$tmp/address" ]; do
    kill -0 $pid 2>/dev/null || { fail 'no server' && finish embedding.sh; }
    sleep 0.05
done
for number in 21 4 1000; do
    answer=$(timeout "$patience" "$tmp/program1" na+sm "$(cat "$tmp/address")" \
        $number)
    [ "$answer" = $((2 * number)) ] || fail "twice $number is not $answer"
done
before=$(processor_time)
sleep 1
used=$(($(processor_time) - before))
[ $used -le 1 ] || fail "the idle server used $used ticks of a second"
kill -TERM $pid
wait $pid || fail "the server ended with $?"
pid=
finish embedding.sh
