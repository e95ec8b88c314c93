#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts: namespaces of network and IPC, joined by a pair of virtual Ethernet
# devices. A server in one, a client in the other.
#
#   test_hosts.sh TALARIA PLUGIN_FOLDER
set -u

talaria=$(realpath "$1") || exit 1
TALARIA_PLUGIN_PATH=$(realpath "$2") || exit 1
export TALARIA_PLUGIN_PATH
work=$(mktemp -d) || exit 1
pids=()

clean_up() {
    for pid in "${pids[@]}"; do
        kill -KILL "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    rm -rf "$work"
}
trap clean_up EXIT

skip() {
    echo "skipped: $*"
    exit 77
}

fail() {
    echo "FAIL $*"
    cat "$work"/*.txt 2>/dev/null
    exit 1
}

for tool in ip unshare nsenter; do
    command -v "$tool" >/dev/null || skip "no $tool"
done
unshare -n -i -m mount -t sysfs sysfs /sys 2>/dev/null ||
    skip 'no permission for namespaces'

# Each host is a process that keeps its namespaces. UCX looks for interfaces in
# /sys, which shows those of the process that mounted it.
for host in 1 2; do
    unshare -n -i -m sh -c 'mount -t sysfs sysfs /sys && exec sleep 120' \
        2>>"$work/hosts.txt" &
    pids+=($!)
done
inside() {
    local pid=${pids[$1 - 1]}
    shift
    nsenter -n -i -m -t "$pid" "$@"
}
# The same in the background, as process $!.
inside_exec() {
    local pid=${pids[$1 - 1]}
    shift
    exec nsenter -n -i -m -t "$pid" "$@"
}
# The namespaces are there once they differ from ours.
for host in 0 1; do
    for _ in $(seq 100); do
        [ "$(readlink /proc/self/ns/net)" != \
            "$(readlink "/proc/${pids[$host]}/ns/net")" ] && break
        sleep 0.05
    done
done
ip link add name ucx_a netns "${pids[0]}" type veth \
    peer name ucx_b netns "${pids[1]}" 2>"$work/ip.txt" ||
    skip "no veth: $(head -n 1 "$work/ip.txt")"
inside 1 ip address add 10.99.0.1/24 dev ucx_a || fail 'address'
inside 2 ip address add 10.99.0.2/24 dev ucx_b || fail 'address'
inside 1 ip link set ucx_a up
inside 2 ip link set ucx_b up
inside 1 ip link set lo up
inside 2 ip link set lo up
for _ in $(seq 100); do
    [ "$(inside 2 cat /sys/class/net/ucx_b/carrier 2>/dev/null)" = 1 ] &&
        [ "$(inside 1 cat /sys/class/net/ucx_a/carrier 2>/dev/null)" = 1 ] &&
        break
    sleep 0.05
done

# With all transports, UCX must not use shared memory: the hosts share no IPC.
(umask 077 && head -c 32 /dev/urandom >"$work/token")
token=(--token-file "$work/token")
declare -A at=([tcp]=ucx+tcp://10.99.0.1:7777 [all]=ucx+all://10.99.0.1:7778)
for protocol in tcp all; do
    inside_exec 1 "$talaria" perf serve "${at[$protocol]}" "${token[@]}" \
        >"$work/server.$protocol.txt" 2>&1 &
    pids+=($!)
    for _ in $(seq 200); do
        grep -qF "${at[$protocol]}" "$work/server.$protocol.txt" && break
        sleep 0.05
    done
    grep -qF "${at[$protocol]}" "$work/server.$protocol.txt" ||
        fail "$protocol: no server"
    inside 2 timeout -k 5 60 "$talaria" ping "${at[$protocol]}" \
        >"$work/ping.txt" 2>&1 || fail "$protocol: ping"
    inside 2 timeout -k 5 60 "$talaria" perf bw --size 1M --duration 0.2 \
        --rounds 1 "${token[@]}" "${at[$protocol]}" >"$work/bw.txt" 2>&1 ||
        fail "$protocol: bulk"
done

# The link is removed: a call then fails, in bounded time.
inside 1 ip link set ucx_a down
for protocol in tcp all; do
    started=$SECONDS
    inside 2 env TALARIA_UCX_CONNECT_TIMEOUT=2s timeout -k 5 60 "$talaria" ping \
        --timeout 5 "${at[$protocol]}" >"$work/down.txt" 2>&1 &&
        fail "$protocol: an answer over a removed link"
    [ $((SECONDS - started)) -le 20 ] || fail "$protocol: failed too late"
done
echo 'ok'
