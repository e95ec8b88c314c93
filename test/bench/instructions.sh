#!/usr/bin/env bash
# Counts instructions and allocations per call: instructions.sh RPC_LOOP BOUNDS
# [INFO]. Two runs of different length, so that start and end cancel out. Over a
# network only the instructions of Talaria's own objects are bounded, since those
# of libfabric, UCX and the C library vary with their versions.
set -eu
loop=$1 bounds=$2 info=${3:-na+sm}
ours='/(libtalaria|libna_|rpc_loop)[^/]*$'
short=2000 long=4000 failed=0

if ! command -v valgrind >/dev/null; then
    echo "skipped: valgrind is not installed"
    exit 77
fi

bound() {
    awk -v name="$1" '$1 == name { print $2 }' "$bounds"
}

# collected COUNT [single|self]: instructions of a whole run, the least of three.
collected() {
    local output least='' count
    for _ in 1 2 3; do
        if ! output=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null \
            "$loop" "$info" "$@" 2>&1 >/dev/null); then
            printf '%s\n' "$output" "$loop failed under valgrind" >&2
            return 1
        fi
        count=$(awk '/Collected *:/ { print $NF }' <<<"$output")
        [ "${least:-$count}" -lt "$count" ] || least=$count
    done
    echo "$least"
}

# own COUNT PROFILE: prints those of Talaria's objects. PROFILE keeps all.
own() {
    local output
    if ! output=$(valgrind --tool=callgrind --callgrind-out-file="$2" \
        "$loop" "$info" "$1" 2>&1 >/dev/null); then
        printf '%s\n' "$output" "$loop failed under valgrind" >&2
        return 1
    fi
    awk -v ours="$ours" -f "$(dirname "$0")/share.awk" "$2"
}

# allocated COUNT [single|self]: allocations of that many calls once warm.
allocated() {
    local output
    output=$("$loop" "$info" "$@") || return 1
    awk '$1 == "allocations" { print $2 }' <<<"$output"
}

check() {
    echo "$1: $2, at most $3"
    # Also fails if one of them is not a number.
    if ! [ "$2" -le "$3" ]; then
        echo "  too many"
        failed=1
    fi
}

if [ "$info" != na+sm ]; then
    # connections take a varying number of polls to be made
    long=12000
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    a=$(own $short "$folder/short") && b=$(own $long "$folder/long") &&
        count=$(allocated $long) || exit 1
    all=$(awk '/^totals:/ { print $2 - last; last = $2 }' \
        "$folder/short" "$folder/long" | tail -n 1)
    echo "instructions with those of libraries: $((all / (long - short)))"
    name=instructions_own_$info
    check "$name" $(((b - a) / (long - short))) "$(bound "$name")"
    check "allocations in $long calls" "$count" "$(bound allocations)"
    exit $failed
fi

for mode in '' single self; do
    # shellcheck disable=SC2086 # no word where mode is empty
    a=$(collected $short $mode) && b=$(collected $long $mode) &&
        count=$(allocated $long $mode) || exit 1
    name=instructions${mode:+_$mode}
    check "$name" $(((b - a) / (long - short))) "$(bound "$name")"
    check "allocations in $long calls${mode:+ ($mode)}" "$count" \
        "$(bound allocations)"
    [ -n "$mode" ] || plain=$(((b - a) / (long - short)))
done
# Published, without a reader.
export TALARIA_PUBLISH=1
a=$(collected $short) && b=$(collected $long) || exit 1
check 'instructions that publishing adds' $(((b - a) / (long - short) - plain)) \
    "$(bound instructions_published)"
exit $failed
