#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The table at the end of core/README.md names existing cases for each number from
# 1 to 28:
#
#   table.sh SOURCE_ROOT
#
# Exit status 0, or 1 with what failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../abi/lib.sh disable=SC1091
. "$here/../abi/lib.sh"

if [ $# -ne 1 ] || [ ! -r "$1/core/README.md" ]; then
    fail 'usage: table.sh SOURCE_ROOT'
    finish table.sh
fi
table=$(sed -n '/^## Where each behaviour is shown/,$p' "$1/core/README.md")

for number in {1..28}; do
    grep -qE "^\| $number \|.*\`[a-z]+/[a-z_]+\.[a-z]+" <<<"$table" ||
        fail "nothing is named for $number"
done

# "file:case", or a case of the file before it, or a file.
file='' count=0
# shellcheck disable=SC2016
while read -r name; do
    count=$((count + 1))
    case $name in
    */*)
        file=$1/test/${name%%:*}
        [ -f "$file" ] || fail "$name: there is no such file"
        [[ $name = *:* ]] || continue
        name=${name#*:}
        ;;
    esac
    grep -qs "^START_TEST($name)" "$file" ||
        fail "${file#"$1"/}: there is no case $name"
    [ "$(grep -cw "$name" "$file")" -ge 2 ] ||
        fail "${file#"$1"/}: $name isn't run"
done < <(grep '^|' <<<"$table" | sed 's/.*|\([^|]*\)|$/\1/' |
    grep -oE '`[a-z_0-9]+(/[a-z_0-9]+\.[a-z]+)?(:[a-z_0-9]+)?`' | tr -d '`')
[ "$count" -ge 60 ] || fail "$count names only were found"
finish table.sh
