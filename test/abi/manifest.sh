#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The manifest beside a plugin equals the output of talaria manifest for that
# plugin:
#
#   manifest.sh TALARIA PLUGIN
#
# Exit status 0, or 1 with the difference.
set -u
output=$("$1" manifest "$2") || exit 1
if ! diff "${2%.so}.json" - <<<"$output"; then
    echo "FAIL: ${2%.so}.json differs from the manifest of $2"
    exit 1
fi
echo 'manifest.sh: ok'
