#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs programs over a transport one after the other, in a soak only:
# whole.sh TRANSPORT PROGRAM...
set -u
if [ "${TALARIA_TEST_SOAK-}" != 1 ]; then
    echo 'skipped: these programs run over this transport in a soak only'
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
