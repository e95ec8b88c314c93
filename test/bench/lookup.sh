#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What a known peer costs the core, and that looking up many is linear:
# lookup.sh LOOKUP BOUNDS [INFO]. Instructions are those of the whole process.
set -eu
lookup=$1 bounds=$2 info=${3:-na+sm}
few=1000 many=20000 failed=0
[ "${TALARIA_TEST_SOAK-}" != 1 ] || many=100000

if ! command -v valgrind >/dev/null; then
    echo "skipped: valgrind is not installed"
    exit 77
fi

bound() {
    awk -v name="$1" '$1 == name { print $2 }' "$bounds"
}

# collected COUNT: instructions of a run.
collected() {
    local output
    if ! output=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$lookup" "$info" "$1" plain 2>&1 >/dev/null); then
        printf '%s\n' "$output" "$lookup failed under valgrind" >&2
        return 1
    fi
    awk '/Collected *:/ { print $NF }' <<<"$output"
}

check() {
    echo "$1: $2, at most $3"
    # Also fails when what is compared is no number.
    if ! [ "$2" -le "$3" ]; then
        echo "  too many"
        failed=1
    fi
}

output=$("$lookup" "$info" $many) || exit 1
# shellcheck disable=SC2001 # each line
sed 's/^/of a peer: /' <<<"$output"
check lookup_bytes "$(awk '$1 == "core" { print $2 }' <<<"$output")" \
    "$(bound lookup_bytes)"
none=$(collected 1) && a=$(collected $few) && b=$(collected $many) || exit 1
with_few=$(((a - none) / (few - 1)))
with_many=$(((b - a) / (many - few)))
echo "instructions of a lookup: $with_few, later $with_many"
check lookup_growth $((100 * with_many / with_few)) "$(bound lookup_growth)"
exit $failed
