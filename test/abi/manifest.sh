#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The manifest beside a plugin is the one that talaria manifest writes from the
# plugin itself:
#
#   manifest.sh TALARIA PLUGIN
#
# Exit status 0, or 1 with the difference.
set -u
output=$("$1" manifest "$2") || exit 1
if ! diff "${2%.so}.json" - <<<"$output"; then
    echo "FAIL: ${2%.so}.json is not what $2 says of itself"
    exit 1
fi
echo 'manifest.sh: ok'
