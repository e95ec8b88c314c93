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

# check NAME RULES OPTION...: sets found to the first case that finds one of them
# broken, and stops there.
check() {
    name=$1 rules=$2
    shift 2
    "$talaria" check --json --quick --patience 2 --limit 10 --fail-fast \
        "$@" "$plugin" "$name" >"$folder/$name.json" 2>"$folder/$name.err"
    found=$(jq -r --argjson rules "[$rules]" '[.cases[] |
        select(.verdict == "failed" and
            (.broken_rule as $rule | $rules | index($rule)))][0] //
            empty | "rule \(.broken_rule), \(.name): \(.came)"' \
        "$folder/$name.json" 2>>"$folder/$name.err")
}

# one NAME RULES CASE: by that case, or by any other of these rules.
one() {
    check "$1" "$2" --case "$3"
    # shellcheck disable=SC2046 # several words
    [ -n "$found" ] || check "$1" "$2" $(printf '%s\n' "$2" |
        sed 's/[0-9][0-9]*/--rule &/g; s/,/ /g')
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
awk '/^[a-z]/ && $1 != "good" { print $1, $2, $3 }' "$variants" >"$folder/list"
work() {
    while read -r variant rules case; do
        one "$variant" "$rules" "$case"
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
    if [ "$(grep -c "^[^ ]* \([0-9]*,\)*$rule[, ]" "$folder/list")" -lt 2 ]; then
        echo "fewer than two variants break rule $rule"
        missed=$((missed + 1))
    fi
done
[ "$missed" -eq 0 ] && [ "$caught" -eq "$(wc -l <"$folder/list")" ]
