#!/usr/bin/env bash
# Counts instructions and allocations per call: instructions.sh RPC_LOOP BOUNDS
# [INFO]. Two runs of different length, so that start and end cancel out.
set -eu
loop=$1 bounds=$2 info=${3:-na+sm}
short=2000 long=4000 failed=0

if ! command -v valgrind >/dev/null; then
    echo "skipped: valgrind is not installed"
    exit 77
fi

bound() {
    awk -v name="$1" '$1 == name { print $2 }' "$bounds"
}

# collected COUNT [single]: instructions of a whole run.
collected() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$loop" "$info" "$@" 2>&1 >/dev/null |
        awk '/Collected *:/ { print $NF }'
}

check() {
    echo "$1: $2, at most $3"
    if [ "$2" -gt "$3" ]; then
        echo "  too many"
        failed=1
    fi
}

for mode in '' single; do
    # shellcheck disable=SC2086 # no word where mode is empty
    a=$(collected $short $mode) b=$(collected $long $mode)
    if [ -z "$a" ] || [ -z "$b" ]; then
        echo "$loop failed under valgrind"
        exit 1
    fi
    name=instructions${mode:+_$mode}
    check "$name" $(((b - a) / (long - short))) "$(bound "$name")"
    # shellcheck disable=SC2086
    count=$("$loop" "$info" $long $mode | awk '$1 == "allocations" { print $2 }')
    check "allocations in $long calls${mode:+ ($mode)}" "$count" \
        "$(bound allocations)"
done
exit $failed
