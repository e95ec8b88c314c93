#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The programs that a transport is not tested with every day, one after the
# other: whole.sh TRANSPORT PROGRAM... Each takes as long as over any other.
set -u
if [ "${TALARIA_TEST_SOAK-}" != 1 ]; then
    echo 'these programs are run over this transport in a soak'
    exit 77
fi
transport=$1
shift
failed=
for program; do
    echo "$program $transport"
    "$program" "$transport" || failed="$failed ${program##*/}"
done
[ -z "$failed" ] || echo "failed:$failed"
[ -z "$failed" ]
