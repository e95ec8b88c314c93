#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Messages and transfers, checked byte by byte, with a core and a plugin that are
# built on different minors of the ABI:
#
#   growth.sh TALARIA CORE PLUGIN_DIR INFO ABI
#
# CORE: the libtalaria.so that TALARIA must load; ABI: the version that the plugin
# in PLUGIN_DIR is built on. Exit status 0, or 1 with what failed.
set -u
command -v jq >/dev/null || { echo 'skipped: no jq to read JSON with'; exit 77; }
talaria=$1 core=$(realpath "$2") info=$4 abi=$5
export TALARIA_PLUGIN_PATH=$3 LD_PRELOAD=$core
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

used=$(ldd "$talaria" | sed -n 's/^[[:space:]]*\(\/[^ ]*libtalaria[^ ]*\) .*/\1/p')
[ "$used" = "$core" ] ||
    fail "the loaded core is ${used:-none}, not $core"

minor=$(jq -r '.plugin.abi | "\(.major).\(.minor)"' "$3"/libna_*.json | sort -u)
[ "$minor" = "$abi" ] || fail "the plugin has ABI ${minor:-none}, not $abi"

# move WHAT LEVEL SIZES
move() {
    "$talaria" perf "$1" --local "$info" --level "$2" --verify --size "$3" \
        --rounds 1 --operations 20 --warm-up 0 || fail "$1, $2"
}
move lat na 64,1K
move bw na 64,256K
move lat rpc 64,256K
move bw bulk 64,256K
"$talaria" info "$info" >/dev/null || fail "info $info"
exit "$failed"
