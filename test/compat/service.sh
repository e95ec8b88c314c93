#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The steps of docs/service.md build, and work as described:
#
#   service.sh SOURCE_ROOT BUILD_DIR CC...
#
# The first block of C is a program; each block of changes is applied to the one
# before it. The other blocks of C are in examples/kv.c, which has a test of its
# own. Exit status 0, or 1 with what failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../abi/lib.sh disable=SC1091
. "$here/../abi/lib.sh"
patience=60 # seconds for what should end by itself

if [ $# -lt 3 ] || [ ! -f "$1/docs/service.md" ]; then
    fail 'usage: service.sh SOURCE_ROOT BUILD_DIR CC...'
    finish service.sh
fi
source_root=$1 build=$2
shift 2
cc=("$@")
for variable in ${!TALARIA_@} ${!HG_@} ${!NA_@}; do
    unset "$variable"
done
export LD_LIBRARY_PATH=$build/core TALARIA_PLUGIN_PATH=$build/plugins/sm
tmp=$(realpath "$(mktemp -d)") || exit 1
pid=
clean_up() {
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null
    rm -rf "$tmp"
}
trap clean_up EXIT
stop() {
    fail "$@"
    cat "$tmp/output" "$tmp/server.err" 2>/dev/null
    finish service.sh
}

awk -v dir="$tmp/" '
    /^```(c|diff)$/ { kind = substr($0, 4); file = dir kind (++count[kind]); next }
    /^```/ { file = "" }
    file { print > file }' "$source_root/docs/service.md"
mv "$tmp/c1" "$tmp/kv.c" || stop 'the page has no program'
steps=$(find "$tmp" -name 'diff*' | wc -l)
[ "$steps" -ge 3 ] || stop "the page has $steps changes"
for part in "$tmp"/c[0-9]*; do
    python3 - "$part" "$source_root/examples/kv.c" <<'END' || stop "not in kv.c"
import sys
part, whole = (open(name).read() for name in sys.argv[1:])
if part not in whole:
    print(part)
    sys.exit(1)
END
done

# call COMMAND ARGUMENT...: the client, its output in $tmp/output.
call() {
    timeout "$patience" "$tmp/kv" "$1" na+sm "$address" "${@:2}" \
        >"$tmp/output" 2>&1
}

# try STEP: the checks of every step.
try() {
    local threads=()
    [ "$1" -lt 2 ] || threads=(4)
    mkfifo "$tmp/address"
    "$tmp/kv" serve na+sm "${threads[@]}" >"$tmp/address" \
        2>"$tmp/server.err" &
    pid=$!
    read -r -t "$patience" address <"$tmp/address" ||
        stop "step $1: the server prints no address"
    rm "$tmp/address"
    call put color blue || stop "step $1: put"
    call put color red || stop "step $1: put again"
    call get color || stop "step $1: get"
    [ "$(cat "$tmp/output")" = red ] || stop "step $1: another value"
    ! call get nothing || stop "step $1: a missing key is found"
    grep -q HG_NOENTRY "$tmp/output" || stop "step $1: not HG_NOENTRY"
}

# compile FILE: the program kv.
compile() {
    "${cc[@]}" -Wall -Wextra -Werror -O1 -pthread -o "$tmp/kv" "$1" \
        -isystem "$source_root/core/include" -isystem "$build/core/include" \
        -L"$build/core" -ltalaria >"$tmp/output" 2>&1 ||
        stop "$1 does not compile"
}

# A deadline passes; it is shortened for the test.
try_stopped() {
    sed 's/\(define DEADLINE_MS\) [0-9]*/\1 200/' "$tmp/kv.c" >"$tmp/short.c"
    mv "$tmp/kv" "$tmp/kv.patient"
    compile "$tmp/short.c"
    kill -STOP "$pid"
    ! call get color || stop "step $1: a stopped server answers"
    grep -q HG_TIMEOUT "$tmp/output" || stop "step $1: not HG_TIMEOUT"
    kill -CONT "$pid"
    mv "$tmp/kv.patient" "$tmp/kv"
    call get color || stop "step $1: the server is lost"
}

# Several clients at once.
try_threads() {
    local client clients=()
    for client in 1 2 3 4 5 6; do
        timeout "$patience" "$tmp/kv" put na+sm "$address" "key$client" \
            "value$client" &
        clients+=($!)
    done
    for client in "${clients[@]}"; do
        wait "$client" || stop "step $1: a put at once with others"
    done
    call get key5 || stop "step $1: get"
    [ "$(cat "$tmp/output")" = value5 ] || stop "step $1: a value of several"
}

# SIGTERM ends the server with success.
try_end() {
    local code
    kill -TERM "$pid"
    wait "$pid"
    code=$?
    pid=
    [ "$code" -eq 0 ] || stop "step $1: exit status $code"
    [ ! -s "$tmp/server.err" ] || stop "step $1: the server complains"
}

for ((step = 0; step <= steps; step++)); do
    if [ "$step" -gt 0 ]; then
        (cd "$tmp" && patch --fuzz=0 -p0 kv.c "diff$step") >"$tmp/output" 2>&1 ||
            stop "the changes of step $step do not fit"
    fi
    compile "$tmp/kv.c"
    try "$step"
    [ "$step" -ne 1 ] || try_stopped "$step"
    [ "$step" -lt 2 ] || try_threads "$step"
    if [ "$step" -eq "$steps" ]; then
        try_end "$step"
    else
        kill -KILL "$pid"
        wait "$pid" 2>/dev/null
        pid=
    fi
done
finish service.sh
