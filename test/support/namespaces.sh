# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Two hosts on one machine: network namespaces, each with one end of a pair of
# virtual interfaces, for tests with a server in one and a client in the other.

# two_namespaces: creates them, and sets `here` (10.77.0.1) and `there` (10.77.0.2)
# to their names; veth0 in both is up. Ends the test with status 77 where that is
# not permitted.
two_namespaces() {
    local why name i
    if ! command -v ip >/dev/null; then
        echo 'skipped: no ip'
        exit 77
    fi
    here=talaria-$$-a
    there=talaria-$$-b
    if ! why=$({ ip netns add "$here" && ip netns add "$there" &&
        ip -n "$here" link add veth0 type veth peer name veth0 netns "$there"
    } 2>&1); then
        echo "skipped: $why"
        exit 77
    fi
    ip -n "$here" addr add 10.77.0.1/24 dev veth0 || exit 1
    ip -n "$there" addr add 10.77.0.2/24 dev veth0 || exit 1
    for name in "$here" "$there"; do
        ip -n "$name" link set lo up || exit 1
        ip -n "$name" link set veth0 up || exit 1
    done
    for name in "$here" "$there"; do
        for ((i = 0; i < 200; i++)); do
            ! ip -n "$name" link show dev veth0 | grep -q 'state UP' || break
            sleep 0.05
        done
    done
}

# Call it at the end, also after a failure.
remove_namespaces() {
    ip netns del "${here-}" 2>/dev/null
    ip netns del "${there-}" 2>/dev/null
}
