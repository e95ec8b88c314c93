#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The conformance kit over one transport: check.sh TALARIA PLUGIN TRANSPORT
# KEY=VALUE... These options select cases. A soak ignores them: it runs all cases
# with full counts and more time for each. Over tcp;ofi_rxm a refused get takes
# 0.13 s, since it is retried, and mem_flipped has hundreds of them. The limit is
# multiplied like those of all tests. Skipped where the plugin refuses libfabric's
# shm.
set -u
talaria=$1
plugin=$2
transport=$3
shift 3
if [ "$transport" = shm ]; then
    output=$("$talaria" check --quick --case=both_ways "$plugin" shm 2>&1)
    case $output in
    *'use na+sm'*)
        echo "skipped: $output"
        exit 77
        ;;
    esac
fi
stretch=${CK_TIMEOUT_MULTIPLIER:-1}
if [ "${TALARIA_TEST_SOAK-}" = 1 ]; then
    exec "$talaria" check "--limit=$((180 * stretch))" "$plugin" "$transport"
fi
options=--limit=$((60 * stretch))
for choice; do
    options="$options --$choice"
done
set -f
# shellcheck disable=SC2086
exec "$talaria" check --quick $options "$plugin" "$transport"
