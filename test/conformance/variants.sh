#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every broken variant of the wire plugin is caught by the rule that it breaks,
# and the unbroken one passes: variants.sh TALARIA PLUGIN VARIANTS.
set -u
export LC_ALL=C.UTF-8
talaria=$1 plugin=$2 variants=$3

command -v jq >/dev/null || { echo "skipped: no jq to read JSON with"; exit 77; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/talaria-variants-XXXXXX") || exit 99
trap 'rm -rf "$folder"' EXIT

# one NAME RULES: stops at the first case that finds one of them broken.
one() {
    options=$(printf '%s\n' "$2" | sed 's/[0-9][0-9]*/--rule &/g; s/,/ /g')
    # shellcheck disable=SC2086 # several words
    "$talaria" check --json --quick --patience 2 --limit 10 --fail-fast \
        $options "$plugin" "$1" >"$folder/$1.json" 2>"$folder/$1.err"
    found=$(jq -r --argjson rules "[$2]" '[.cases[] |
        select(.verdict == "failed" and
            (.broken_rule as $rule | $rules | index($rule)))][0] //
            empty | "rule \(.broken_rule), \(.name): \(.came)"' \
        "$folder/$1.json" 2>>"$folder/$1.err")
    if [ -n "$found" ]; then
        echo "$1: $found"
    else
        echo "MISSED $1: rule $2 was not found broken"
        jq -r '.cases[] | select(.verdict == "failed") |
            "    rule \(.broken_rule), \(.name): \(.came)"' "$folder/$1.json"
        cat "$folder/$1.err"
    fi
}

# Two at a time: most of a hang is waiting.
awk '/^[a-z]/ && $1 != "good" { print $1, $2 }' "$variants" >"$folder/list"
work() {
    while read -r name rule; do
        one "$name" "$rule"
    done
}
awk 'NR % 2' "$folder/list" | work >"$folder/odd" &
awk 'NR % 2 == 0' "$folder/list" | work >"$folder/even"
wait
cat "$folder/odd" "$folder/even"
caught=$(cat "$folder/odd" "$folder/even" | grep -c ': rule [0-9]*, ')
missed=$(cat "$folder/odd" "$folder/even" | grep -c '^MISSED')
echo "$caught variants caught, $missed missed"

# At least two for each of rules 6 to 12.
for rule in 6 7 8 9 10 11 12; do
    if [ "$(grep -c " $rule\(,\|$\)" "$folder/list")" -lt 2 ]; then
        echo "fewer than two variants break rule $rule"
        missed=$((missed + 1))
    fi
done
[ "$missed" -eq 0 ] && [ "$caught" -eq "$(wc -l <"$folder/list")" ]
