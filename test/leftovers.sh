#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Nothing is left behind: no process, no socket, no shared memory, no file.
#
#   leftovers.sh before DIR          saves the present state in DIR
#   leftovers.sh after DIR TMP       reports what is new since then, and anything
#                                    in TMP, the TMPDIR of the tests; ends the
#                                    processes
#   leftovers.sh end                 ends the processes
#   leftovers.sh --self-test         leaves each of these behind, and checks that
#                                    it is reported
#
# Processes of a run have TEST_RUN=$TEST_RUN in their environment. Exit status
# 0, or 1 with what was left.
set -u

mine=talaria
# Only root leaves files of other users.
owned=()
[ "$(id -u)" -eq 0 ] || owned=(-user "$(id -u)")
patience=10 # seconds for processes that are ending, other users' too

# The sockets, and the files in shared folders, with our name. Without the TMPDIR
# of other runs.
sockets() {
    awk -v mine="$mine" 'NR > 1 && $8 ~ mine { print $7, $8 }' /proc/net/unix |
        sort
}

shared_files() {
    local folder
    for folder in /dev/shm /tmp /var/tmp; do
        find "$folder" -maxdepth 1 -name "*$mine*" \
            ! -name "$mine-run-*" "${owned[@]}" 2>/dev/null
    done | sort
}

parent_of() {
    awk '/^PPid:/ { print $2 }' "/proc/$1/status" 2>/dev/null
}

# below PID ANCESTOR
below() {
    local pid=$1
    while [ "${pid:-0}" -gt 1 ]; do
        [ "$pid" = "$2" ] && return 0
        pid=$(parent_of "$pid")
    done
    return 1
}

of_this_run() {
    grep -qzFx "TEST_RUN=$TEST_RUN" "/proc/$1/environ" 2>/dev/null
}

# The processes of this run, without this script's ancestors and children.
processes() {
    local pid
    for pid in /proc/[0-9]*; do
        pid=${pid#/proc/}
        if of_this_run "$pid" && ! below $$ "$pid" && ! below "$pid" $$; then
            printf '%s\n' "$pid"
        fi
    done
}

# Whether stdin, entries in /proc, has one of a process outside of this run. Files
# that such a process uses are not ours.
foreign() {
    local entry pid
    while read -r entry; do
        pid=${entry#/proc/} pid=${pid%%/*}
        if ! of_this_run "$pid" && [ -e "/proc/$pid" ]; then
            return 0
        fi
    done
    return 1
}

# held INODE: whether a process of this run has this socket. The owners of other
# sockets are not always visible.
held() {
    local entry pid
    while read -r entry; do
        pid=${entry#/proc/} pid=${pid%%/*}
        ! of_this_run "$pid" || return 0
    done < <(find /proc/[0-9]*/fd -lname "socket:\\[$1\\]" 2>/dev/null)
    return 1
}

foreign_file() {
    {
        find /proc/[0-9]*/fd /proc/[0-9]*/cwd -lname "$1*"
        grep -lF -- "$1" /proc/[0-9]*/cmdline
    } 2>/dev/null | foreign
}

left() {
    local dir=$1 tmp=$2 pid inode name
    for pid in $(processes); do
        printf 'process %s: %s\n' "$pid" \
            "$(ps -o args= -p "$pid")"
    done
    sockets | comm -13 "$dir/sockets" - | while read -r inode name; do
        ! held "$inode" || printf 'socket %s\n' "$name"
    done
    shared_files | comm -13 "$dir/files" - | while read -r name; do
        foreign_file "$name" || printf 'file %s\n' "$name"
    done
    find "$tmp" -mindepth 1 2>/dev/null | sed 's/^/file /'
}

# Repeats until none is left, since processes may start others.
end_processes() {
    local pids round
    for round in 1 2 3 4 5 6 7 8 9; do
        pids=$(processes)
        [ -n "$pids" ] || return 0
        printf '%s\n' "$pids" | xargs kill -KILL 2>/dev/null
    done
    echo "left behind after $round rounds of kill: $pids"
}

before() {
    sockets >"$1/sockets" && shared_files >"$1/files"
}

after() {
    local found deadline=$((SECONDS + patience))
    while found=$(left "$1" "$2") && [ -n "$found" ] &&
        [ $SECONDS -lt $deadline ]; do
        sleep 0.2
    done
    [ -n "$found" ] || return 0
    printf '%s\n' "$found" | sed 's/^/left behind: /'
    end_processes
    return 1
}

# expect WANTED: the report of what is left contains this text
expect() {
    local output
    output=$(left "$dir/state" "$dir/tmp")
    if [ -z "$1" ] && [ -n "$output" ]; then
        printf 'FAIL: nothing is left, but it reports: %s\n' "$output"
        failures=$((failures + 1))
    elif [[ $output != *"$1"* ]]; then
        printf 'FAIL: not noticed: %s; it reports: %s\n' "$1" "$output"
        failures=$((failures + 1))
    fi
}

# hold NAME FILE: becomes a process that has a socket of that name, and creates the
# file after that.
hold() {
    exec python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind("\0" + sys.argv[1])
open(sys.argv[2], "w").close()
time.sleep(60)' "$1" "$2"
}

# Waits for a file.
await() {
    local deadline=$((SECONDS + 10))
    while [ ! -e "$1" ] && [ $SECONDS -lt $deadline ]; do
        sleep 0.1
    done
}

# A socket of a process that this user may not inspect.
unrelated_test() {
    local child
    if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
        echo 'left out: only root can become another user'
        return
    fi
    TEST_RUN=another hold "$name-strange" "$dir/strange" &
    child=$!
    await "$dir/strange"
    chmod 755 "$dir" "$dir/state" "$dir/tmp"
    # shellcheck disable=SC2016
    output=$(mine=$mine setpriv --reuid 65534 --regid 65534 --clear-groups \
        bash -c "$(declare -f); owned=(); $(declare -p mine)"'
            left "$1/state" "$1/tmp"' unrelated "$dir")
    [ -z "$output" ] || {
        printf 'FAIL: of an unrelated process, it reports: %s\n' "$output"
        failures=$((failures + 1))
    }
    kill "$child"
    wait "$child" 2>/dev/null
}

self_test() {
    local child
    failures=0
    mine=leftovers-$$
    name=$mine-left
    export TEST_RUN=self-test.$$
    dir=$(mktemp -d) && mkdir "$dir/state" "$dir/tmp" || exit 1
    trap 'rm -rf "$dir" "/dev/shm/$name"' EXIT
    before "$dir/state"
    expect ''

    unrelated_test
    : >"/dev/shm/$name"
    expect "file /dev/shm/$name"
    rm "/dev/shm/$name"
    : >"$dir/tmp/some"
    expect "file $dir/tmp/some"
    rm "$dir/tmp/some"

    # A grandchild that has a socket; the shell between them has ended.
    (setsid bash -c "$(declare -f hold)"'; hold "$@"' hold \
        "$name" "$dir/bound" &)
    await "$dir/bound"
    expect 'process '
    expect "socket @$name"
    child=$(processes)
    patience=1
    after "$dir/state" "$dir/tmp" >/dev/null && {
        echo 'FAIL: a process was left, and is not reported'
        failures=$((failures + 1))
    }
    patience=10
    after "$dir/state" "$dir/tmp" || {
        echo "FAIL: process $child was not ended"
        failures=$((failures + 1))
    }
    [ "$failures" -eq 0 ]
}

case ${1-}:$# in
before:2) before "$2" ;;
after:3) after "$2" "$3" ;;
end:1) end_processes ;;
--self-test:1) self_test ;;
*)
    echo 'usage: leftovers.sh before DIR | after DIR TMP | end |' \
        '--self-test' >&2
    exit 1
    ;;
esac
