# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Helpers for the tests of `talaria copy`: a server, checks, and a search for
# leftovers. Sourced with the build directory as $1.
set -u

build=$(cd "${1:?usage: $0 BUILD_DIR}" && pwd -P) || exit 99
talaria=$build/tools/talaria
export TALARIA_PLUGIN_PATH=$build/plugins/sm
unset TALARIA_PLUGIN_FILES HG_LOG_LEVEL HG_LOG_SUBSYS
umask 022
# Findings of a sanitizer have another exit code than expected failures.
export ASAN_OPTIONS=exitcode=99${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export UBSAN_OPTIONS=halt_on_error=1:exitcode=99

# A private /tmp and /dev/shm show what is left there, whatever else runs on this
# machine. Without permission for them, that check is left out with a message.
if [ -z "${COPY_TEST_PRIVATE+set}" ]; then
    for kind in -m -rm; do
        unshare $kind true 2>/dev/null || continue
        COPY_TEST_PRIVATE=yes exec unshare $kind -- "$BASH" "$0" "$@"
    done
    COPY_TEST_PRIVATE=no
fi
if [ "$COPY_TEST_PRIVATE" = yes ]; then
    mount -t tmpfs tmpfs /dev/shm || COPY_TEST_PRIVATE=no
    case "$build/" in
    /tmp/*) ;;
    *) mount -t tmpfs tmpfs /tmp || COPY_TEST_PRIVATE=no ;;
    esac
fi

work=$(mktemp -d "/var/tmp/talaria-test-XXXXXX") || exit 99
export TMPDIR=$work
exported=$work/exported
out=$work/out
err=$work/err
server_err=$work/server_err
server=
address=
failures=0
ran=
mkdir "$exported"

clean_up() {
    # shellcheck disable=SC2046
    kill -9 $(jobs -p) 2>/dev/null
    wait 2>/dev/null
    chmod -R u+rwx "$work"
    rm -rf "$work"
}
trap clean_up EXIT

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$*"
    sed 's/^/  out: /' "$out"
    sed 's/^/  err: /' "$err"
    sed 's/^/  server: /' "$server_err"
}

# A system may lack /proc, and thereby unnamed files, and openat2. A sanitizer
# cannot search for leaks in a traced process, and does not work without /proc.
wrap_without_proc() {
    if grep -q __asan_init "$talaria"; then
        echo "left out: /proc hidden from a sanitizer"
        return 1
    fi
    # Without /proc the loader cannot find libraries beside the program.
    # shellcheck disable=SC2016
    wrapper=(env "LD_LIBRARY_PATH=$build/core" unshare -m
        sh -c 'mount -t tmpfs tmpfs /proc && exec "$@"' sh)
    "${wrapper[@]}" true 2>/dev/null && return
    wrapper=()
    echo "left out: /proc can't be hidden"
    return 1
}

# As a kernel without openat2 that does not link a file by its descriptor, which
# is tried once.
wrap_with_older_kernel() {
    wrapper=(env "ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0"
        strace -D -o /dev/null -e trace=openat2,linkat
        -e inject=openat2:error=ENOSYS -e inject=linkat:error=ENOENT:when=1)
    "${wrapper[@]}" true 2>/dev/null && return
    wrapper=()
    echo "left out: no strace to take system calls away"
    return 1
}

finish() {
    [ "$COPY_TEST_PRIVATE" = yes ] ||
        echo "left out: no private /tmp and /dev/shm to look for remains in"
    [ "$failures" -eq 0 ] && exit 0
    echo "$failures failed"
    exit 1
}

# until_true SECONDS COMMAND...: waits until it succeeds, at most SECONDS.
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.02
    done
}

has_line() { grep -q "^$1" "$2"; }

# serve OPTION...: starts a server of $exported over $info, by the command in
# `wrapper` if there is one; sets server and address.
wrapper=()
info=na+sm
# A prefix of the command, on both sides: empty, or a change to another user.
as=()

# A user other than root, if this is root. Fails where no such user may run the
# command.
become_ordinary() {
    [ "$(id -u)" -eq 0 ] || return 0
    as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    if ! "${as[@]}" "$talaria" info >/dev/null 2>&1; then
        as=()
        echo "left out: no other user may run the command"
        return 1
    fi
    chmod 0777 "$work" "$exported"
}

become_oneself() {
    as=()
    chmod 0700 "$work"
    [ "$(id -u)" -ne 0 ] || chown -R 0:0 "$exported"
}

serve() {
    : >"$work/serve_out"
    : >"$server_err"
    # Appended, so that a test may empty the file.
    "${as[@]}" "${wrapper[@]}" "$talaria" copy serve "$info" "$exported" "$@" \
        >"$work/serve_out" 2>>"$server_err" &
    server=$!
    if ! until_true 10 test -s "$work/serve_out"; then
        fail "the server prints no address"
        exit 1
    fi
    address=$(head -n 1 "$work/serve_out")
}

# Stops the server like a user; it has to exit with status 0, soon.
serve_end() {
    local code
    kill -TERM "$server"
    wait_code "$server" 5
    code=$waited
    [ "$code" = 0 ] || fail "the server ends with $code"
    server=
}

# wait_code PID SECONDS: sets waited to the exit code of a child, or "never".
wait_code() {
    if until_true "$2" has_ended "$1"; then
        wait "$1" 2>/dev/null
        waited=$?
    else
        waited=never
    fi
}

has_ended() {
    local state
    state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" \
        2>/dev/null) || return 0
    [ -z "$state" ] || [ "$state" = Z ]
}

# Seconds that a command may take.
patience=60

# copy CODE ARGUMENT...: runs talaria copy, which exits with CODE.
copy() {
    local wanted=$1 code
    shift
    ran="copy $*"
    timeout -k 5 "$patience" "${as[@]}" "$talaria" copy "$@" >"$out" 2>"$err"
    code=$?
    [ "$code" -eq "$wanted" ] || fail "$ran: exit code $code, not $wanted"
}

out_has() { grep -qF -- "$1" "$out" || fail "$ran: no \"$1\" in its output"; }
err_has() { grep -qF -- "$1" "$err" || fail "$ran: no \"$1\" in its errors"; }
err_empty() { [ ! -s "$err" ] || fail "$ran: prints errors"; }

# same A B: two files or trees have the same contents, names, types, modes,
# times and links.
same() {
    diff -r --no-dereference -- "$1" "$2" >"$work/diff" 2>&1 ||
        fail "$ran: $1 and $2 differ: $(head -3 "$work/diff")"
    diff <(list_modes "$1") <(list_modes "$2") >"$work/diff" ||
        fail "$ran: modes of $1 and $2 differ: $(head -3 "$work/diff")"
}

list_modes() {
    (cd "$1" 2>/dev/null && find . -printf '%y %m %T@ %l %p\0' | sort -z |
        tr '\0\n' '\n?') || stat -c '%a %Y' "$1"
}

# No file with a hidden name is beneath these directories.
nothing_left_in() {
    local found
    found=$(find "$@" -name '.talaria-*')
    [ -z "$found" ] || fail "left: $found"
}

# Nothing is left in the exported directory, /tmp and /dev/shm, and no process is
# running.
nothing_left() {
    local found
    nothing_left_in "$work"
    if [ "$COPY_TEST_PRIVATE" = yes ]; then
        found=$(find /dev/shm -mindepth 1)
        case "$build/" in
        /tmp/*) ;;
        *) found=$found$(find /tmp -mindepth 1) ;;
        esac
        [ -z "$found" ] || fail "left: $found"
    fi
    found=$(jobs -pr)
    [ -z "$found" ] || fail "still running: $found"
}
