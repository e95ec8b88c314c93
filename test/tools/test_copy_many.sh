#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Many concurrent clients of one server of talaria copy, half of which put a tree
# and half get one: all are served completely, and the cost is printed. There are
# 32, or with TALARIA_TEST_SOAK=1 256; then 64 with a sanitizer, which makes each
# process ten times as large.
#
#   test_copy_many.sh BUILD_DIR [CLIENTS]
. "$(dirname "$0")/test_copy_common.sh"

clients=32
if [ "${TALARIA_TEST_SOAK:-}" = 1 ]; then
    clients=256
    ! grep -qE '__(asan|tsan)_init' "$talaria" || clients=64
fi
clients=${2:-$clients}
tree=$work/tree

# Twenty files, 3.4 MiB: empty, small, less and more than a chunk's half, a whole
# one.
make_tree() {
    local i
    mkdir -p "$tree/a/b"
    for i in 0 1 10 100 1000 4096 10000 20000 40000 65536; do
        head -c "$i" /dev/urandom >"$tree/f$i"
    done
    for i in 1 500 5000 50000 100000 200000; do
        head -c "$i" /dev/urandom >"$tree/a/f$i"
    done
    for i in 300000 524288 1000000 1048576; do
        head -c "$i" /dev/urandom >"$tree/a/b/f$i"
    done
    bytes=$(find "$tree" -type f -printf '%s\n' |
        awk '{ n += $1 } END { print n }')
}

server_memory() {
    sed -n "s/^$1:[[:space:]]*\([0-9]*\) kB/\1/p" "/proc/$server/status"
}

# The server has no resources of clients any more.
server_is_idle() {
    [ -z "$(find "/proc/$server/fd" -mindepth 1 -lname "$exported/*" \
        2>/dev/null)" ]
}

# All wait for one line of input, and start to copy together.
start_clients() {
    local i
    mkfifo "$work/gate"
    exec 5<>"$work/gate"
    for i in $(seq 1 "$clients"); do
        (
            read -r -u 5 _
            if [ $((i % 2)) -eq 0 ]; then
                exec "$talaria" copy put --json --into "c$i" "$tree" "$address"
            else
                exec "$talaria" copy get --json "$address" tree "$work/c$i"
            fi
        ) >"$work/out.$i" 2>"$work/err.$i" 5<&5 &
        pids[i]=$!
    done
}

check_client() {
    local i=$1 code=$2
    cp "$work/out.$i" "$out"
    cp "$work/err.$i" "$err"
    ran="client $i"
    [ "$code" -eq 0 ] || fail "$ran: exit code $code"
    err_empty
    [ "$(jq -c '[.files, .bytes, .failed]' "$out")" = "[20,$bytes,0]" ] ||
        fail "$ran: another summary"
    if [ $((i % 2)) -eq 0 ]; then
        same "$tree" "$exported/c$i/tree"
    else
        same "$tree" "$work/c$i"
    fi
}

make_tree
cp -a "$tree" "$exported/tree"
serve
memory_before=$(server_memory VmRSS)
start_clients
from=$EPOCHREALTIME
yes "" | head -n "$clients" >&5
for i in $(seq 1 "$clients"); do
    wait "${pids[i]}"
    codes[i]=$?
done
to=$EPOCHREALTIME
exec 5>&-
until_true 5 server_is_idle || fail "the server has files of clients open"
peak=$(server_memory VmHWM)
# Its resources are freed when there is no client.
gave_back() { [ "$(server_memory VmRSS)" -lt $((peak / 2)) ]; }
until_true 3 gave_back || fail "the server keeps its memory"
memory_after=$(server_memory VmRSS)
for i in $(seq 1 "$clients"); do
    check_client "$i" "${codes[i]}"
done
[ ! -s "$server_err" ] || fail "the server printed errors"
# A later client is served like the first one.
copy 0 get "$address" tree "$work/last"
same "$tree" "$work/last"
[ "$(find "$exported" -mindepth 1 -maxdepth 1 | wc -l)" -eq \
    $((clients / 2 + 1)) ] || fail "something else is there"
serve_end
cat "$work"/out.* | jq -r .seconds | sort -n >"$work/times"
awk -v from="$from" -v to="$to" -v bytes="$bytes" -v n="$clients" \
    -v before="$memory_before" -v peak="$peak" -v after="$memory_after" '
    { time[NR] = $1 }
    END {
        printf "%d clients, %.1f MiB in %.2f s: %.0f MiB/s; ", n,
            n * bytes / 1048576, to - from, n * bytes / 1048576 / (to - from)
        printf "seconds of a client: %.2f least, %.2f median, %.2f most; ",
            time[1], time[int((NR + 1) / 2)], time[NR]
        printf "server: %.1f MiB before, %.1f at its peak, %.1f after\n",
            before / 1024, peak / 1024, after / 1024
    }' "$work/times"
nothing_left
finish
