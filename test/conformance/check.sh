#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The conformance kit over one plugin: check.sh AMOUNT COMMAND... Full counts if
# AMOUNT is full, or when soaking; else a tenth.
set -u
amount=$1
shift
[ "$amount" = full ] || [ "${TALARIA_TEST_SOAK-}" = 1 ] || set -- "$@" --quick
exec "$@"
