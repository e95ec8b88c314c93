#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The programs of examples/ build on what is installed, and work as described:
#
#   examples.sh MESON BUILD_DIR SOURCE_ROOT OTHER_DIR OTHER
#
# Installs BUILD_DIR below a folder of its own. Over na+sm and over OTHER, an info
# string whose plugin is in OTHER_DIR. Exit status 0, or 1 with what failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../abi/lib.sh disable=SC1091
. "$here/../abi/lib.sh"
# shellcheck source=stage.sh disable=SC1091
. "$here/stage.sh"
patience=60 # seconds for what should end by itself

if [ $# -ne 5 ] || [ ! -d "$3/examples" ]; then
    fail 'usage: examples.sh MESON BUILD_DIR SOURCE_ROOT OTHER_DIR OTHER'
    finish examples.sh
fi
meson=$1 build=$2 source_root=$3 other_dir=$4 other=$5
for variable in ${!TALARIA_@} ${!HG_@} ${!NA_@} ${!PKG_CONFIG@} DESTDIR; do
    unset "$variable"
done
tmp=$(realpath "$(mktemp -d)") || exit 1
pids=()
clean_up() {
    [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null
    rm -rf "$tmp"
}
trap clean_up EXIT
# A failure ends the script.
stop() {
    fail "$@"
    tail -n 40 "$tmp"/*.log 2>/dev/null
    finish examples.sh
}

stage "$meson" "$build" "$tmp/stage" || stop 'meson install'
export TALARIA_PLUGIN_PATH=$other_dir
cp -r "$source_root/examples" "$tmp/built"
make -C "$tmp/built" CFLAGS='-O1 -Wall -Wextra -Werror' >"$tmp/make.log" 2>&1 ||
    stop 'make'
cd "$tmp/built" || exit 1

# begin NAME COMMAND...: in the background, its output in NAME.out. It reads
# from the descriptor $in.
begin() {
    local name=$1
    shift
    : >"$name.out"
    "$@" <&"$in" >"$name.out" 2>"$tmp/$name.log" &
    pids+=($!)
}

# The first line that a program begun before prints: its address.
first_line() {
    until [ -s "$1.out" ]; do
        kill -0 "${pids[-1]}" 2>/dev/null || stop "$info: $1 does not start"
        sleep 0.02
    done
    head -n 1 "$1.out"
}

# end NAME: the program begun last ends, with success.
end() {
    wait "${pids[-1]}" || stop "$info: $1 ended with $?"
    unset 'pids[-1]'
}

try_kv() {
    local address key i
    begin kv ./kv serve "$info" 4
    address=$(first_line kv)
    head -c 3000000 /dev/urandom >b.value
    printf 'small' >a.value
    : >empty.value
    for key in a b empty; do
        timeout "$patience" ./kv put "$info" "$address" $key <$key.value ||
            stop "$info: put $key"
        timeout "$patience" ./kv get "$info" "$address" $key |
            cmp -s - $key.value || stop "$info: get $key"
    done
    for i in 1 2 3 4 5 6; do # at once
        timeout "$patience" ./kv put "$info" "$address" b <b.value &
        timeout "$patience" ./kv get "$info" "$address" b >"got.$i" &
        jobs[i]=$!
    done
    for i in 1 2 3 4 5 6; do
        wait "${jobs[i]}" || stop "$info: get at once"
        cmp -s "got.$i" b.value || stop "$info: another value"
    done
    timeout "$patience" ./kv remove "$info" "$address" a || stop "$info: remove"
    timeout "$patience" ./kv get "$info" "$address" a 2>"$tmp/get.log" &&
        stop "$info: a removed key is found"
    grep -q HG_NOENTRY "$tmp/get.log" || stop "$info: not HG_NOENTRY"
    kill -TERM "${pids[-1]}"
    end kv
}

try_stream() {
    local address size
    for size in 0 1 1048576 20000001; do
        head -c $size /dev/urandom >stream.in
        begin stream ./stream sink "$info" stream.file
        address=$(first_line stream)
        timeout "$patience" ./stream source "$info" "$address" <stream.in \
            2>"$tmp/source.log" || stop "$info: a stream of $size bytes"
        end stream
        cmp -s stream.in stream.file || stop "$info: not those $size bytes"
    done
}

# The subscriber to red ends after three texts; the one to blue is killed, and the
# server continues.
try_pubsub() {
    local address server color
    begin pubsub ./pubsub serve "$info"
    server=${pids[-1]}
    address=$(first_line pubsub)
    begin blue ./pubsub subscribe "$info" "$address" blue
    begin red ./pubsub subscribe "$info" "$address" red 3
    # until the first text arrives
    until [ -s blue.out ] && [ -s red.out ]; do
        kill -0 "$server" 2>/dev/null || stop "$info: pubsub ended"
        for color in blue red; do
            timeout "$patience" ./pubsub publish "$info" "$address" $color \
                first || stop "$info: publish $color"
        done
        sleep 0.05
    done
    timeout "$patience" ./pubsub publish "$info" "$address" red one two three \
        four || stop "$info: publish red"
    end red
    [ "$(wc -l <red.out)" -eq 3 ] || stop "$info: red has $(cat red.out)"
    ! grep -qv first blue.out || stop "$info: blue has $(cat blue.out)"
    kill -KILL "${pids[-1]}"
    wait "${pids[-1]}" 2>/dev/null
    unset 'pids[-1]'
    timeout "$patience" ./pubsub publish "$info" "$address" blue lost ||
        stop "$info: publish to a killed subscriber"
    begin green ./pubsub subscribe "$info" "$address" green 1
    until [ -s green.out ]; do
        timeout "$patience" ./pubsub publish "$info" "$address" green alive ||
            stop "$info: publish after a death"
        sleep 0.05
    done
    end green
    kill -TERM "$server"
    end pubsub
}

try_loop() {
    local address in
    mkfifo loop.in
    exec {in}<>loop.in
    begin loop ./loop serve "$info"
    rm loop.in
    address=$(first_line loop)
    timeout "$patience" ./loop call "$info" "$address" | grep -q '^hello, ' ||
        stop "$info: loop call"
    echo 'another text' >&"$in"
    until timeout "$patience" ./loop call "$info" "$address" |
        grep -q '^another text, [1-9]'; do # the timer, too
        kill -0 "${pids[-1]}" 2>/dev/null || stop "$info: loop ended"
        sleep 0.1
    done
    kill -TERM "${pids[-1]}"
    end loop
    exec {in}>&-
}

jobs=() in=0
for info in na+sm "$other"; do
    try_kv
    try_stream
    try_pubsub
    try_loop
done
finish examples.sh
