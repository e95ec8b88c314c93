#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the conformance kit over one plugin: check.sh COMMAND... With a tenth of
# the counts unless in a soak.
set -u
[ "${TALARIA_TEST_SOAK-}" = 1 ] || set -- "$@" --quick
exec "$@"
