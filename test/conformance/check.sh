#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The conformance kit over one plugin: check.sh COMMAND... A tenth of the counts
# unless it is soaking.
set -u
[ "${TALARIA_TEST_SOAK-}" = 1 ] || set -- "$@" --quick
exec "$@"
