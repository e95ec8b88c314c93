#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the conformance kit over one plugin: check.sh COMMAND... With a tenth of
# the counts unless in a soak. The time limit of a case is multiplied like those of
# all tests.
set -u
set -- "$@" "--limit=$((60 * ${CK_TIMEOUT_MULTIPLIER:-1}))"
[ "${TALARIA_TEST_SOAK-}" = 1 ] || set -- "$@" --quick
exec "$@"
