#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# talaria check --launch: each case gets the number of processes that it needs; a
# launcher that starts none is an error.
#
#   launched.sh TALARIA PLUGIN
set -u
talaria=$1 plugin=$2
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
failures=0

fail() {
    echo "FAIL $*"
    cat "$tmp/report"
    failures=$((failures + 1))
}

# -n N COMMAND...: starts N processes, each with its own number and descriptor.
cat >"$tmp/launcher" <<'END'
#!/bin/sh
count=$2
shift 2
i=0
# First of all: the launcher may be ended as soon as they have ended.
echo "$count" >>"${0%/*}/counts"
while [ $i -lt "$count" ]; do
    LAUNCHED=$i "$@" 9</dev/null &
    i=$((i + 1))
done
wait
END
chmod +x "$tmp/launcher"

# check PATTERN LAUNCHER: leaves the report; the exit status is in $status.
check() {
    : >"$tmp/counts"
    "$talaria" check --launch "$2" --quick --verbose --case "$1" "$plugin" \
        good >"$tmp/report" 2>&1 </dev/null
    status=$?
}

check '@(unexpected_sizes*|killed_receives|file_*)' "$tmp/launcher"
[ $status -eq 0 ] || fail "launched: exit status $status"
for line in '^passed .* unexpected_sizes ' \
    '^passed .* unexpected_sizes_interprocess ' \
    '^not run .* killed_receives .* before the others'; do
    grep -q "$line" "$tmp/report" || fail "launched: no \"$line\""
done
# The first case of all and unexpected_sizes have one process, its other form two.
sort "$tmp/counts" | tr '\n' ' ' | grep -q '^1 1 2 ' ||
    fail "processes were launched: $(tr '\n' ' ' <"$tmp/counts")"

check 'unexpected_sizes*' false
[ $status -eq 1 ] || fail "a launcher that fails: exit status $status"
grep -q 'unexpected_sizes' "$tmp/report" && fail 'without a launcher a case runs'
grep -q '"false" does not start 1 processes' "$tmp/report" ||
    fail 'no message about a launcher that fails'

# A process of another user that connects first is rejected: it could choose what
# the processes of a case load. Needs root to become that user.
if [ "$(id -u)" -eq 0 ]; then
    cat >"$tmp/other_user" <<'END'
import os, socket, sys
os.setuid(65534)
other = socket.socket(socket.AF_UNIX)
other.settimeout(20)
other.connect("\0" + sys.argv[1])
try:
    print("rejected" if other.recv(1) == b"" else "served")
except ConnectionResetError:
    print("turned away")
END
    cat >"$tmp/crowded" <<'END'
#!/bin/sh
folder=${0%/*}
for name in "$@"; do :; done
python3 "$folder/other_user" "$name" >>"$folder/other" 2>&1
exec "$folder/launcher" "$@"
END
    chmod +x "$tmp/crowded"
    check 'unexpected_sizes' "$tmp/crowded"
    [ $status -eq 0 ] || fail "beside another user: exit status $status"
    [ "$(sort -u "$tmp/other")" = 'rejected' ] ||
        fail "a process of another user: $(sort -u "$tmp/other")"
fi

[ $failures -eq 0 ] && echo 'launched.sh: ok'
[ $failures -eq 0 ]
