#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The conformance kit over one transport: check.sh TALARIA PLUGIN TRANSPORT
# KEY=VALUE... Those options choose cases, and hold for everyday only: a soak
# runs all of them, in their full counts.
set -u
talaria=$1
plugin=$2
transport=$3
shift 3
if [ "${TALARIA_TEST_SOAK-}" = 1 ]; then
    exec "$talaria" check "$plugin" "$transport"
fi
options=
for choice; do
    options="$options --$choice"
done
set -f
# shellcheck disable=SC2086
exec "$talaria" check --quick $options "$plugin" "$transport"
