#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# talaria copy --resume of a large file: a copy that a kill, a signal or a full
# disk ends in the middle continues there, in both directions; chunks that have
# changed in between are copied again; a partial file of others is left alone.
#
#   test_copy_resume.sh BUILD_DIR TRICK
#
# shellcheck disable=SC2016 # for the inner shell
. "$(dirname "$0")/test_copy_common.sh"

trick=${2:?}
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
mib=$((1 << 20))
size=$((24 * mib + 12345))
here=$work/here
mkdir "$here"

# In memory, with a size that a test can set.
if [ "$COPY_TEST_PRIVATE" = yes ]; then
    mount -t tmpfs tmpfs "$exported" || exit 99
    mount -t tmpfs tmpfs "$here" || exit 99
    trap 'umount -l "$exported" "$here"; clean_up' EXIT
fi

# make_large FILE: random bytes, with zeros in between.
make_large() {
    head -c $size /dev/urandom >"$1"
    head -c $((2 * mib)) /dev/zero |
        dd of="$1" bs=64K seek=$((3 * 16)) conv=notrunc status=none
}

# trick CALL NAME COUNT COMMAND: before the COUNT-th read or write of a file by
# the next program; $PPID in it is that process. See copy_trick.c.
trick() {
    tricked=(env "LD_PRELOAD=$trick" "TRICK_CALL=$1" "TRICK_NAME=$2"
        "TRICK_COUNT=$3" "TRICK_DO=touch $work/was && $4")
    rm -f "$work/was"
}

played() { [ -e "$work/was" ] || fail "$ran: the trick was not played"; }

# copy_tricked CODE ARGUMENT...: a client with that library.
copy_tricked() {
    local wanted=$1 code
    shift
    ran="copy $* with ${tricked[*]:2}"
    timeout -k 5 60 "${tricked[@]}" "$talaria" copy "$@" >"$out" 2>"$err"
    code=$?
    played
    [ "$code" -eq "$wanted" ] || fail "$ran: exit code $code, not $wanted"
}

serve_tricked() {
    wrapper=("${tricked[@]}")
    serve
    wrapper=()
}

# The client prints one line about the error.
one_error() {
    [ "$(wc -l <"$err")" -eq 1 ] || fail "$ran: not one line of errors"
    err_has "$1"
}

# resumed MIB: the JSON of the last copy has at least that as resumed.
resumed() {
    local bytes
    bytes=$(sed -n 's/.*"resumed": *\([0-9]*\).*/\1/p' "$out")
    if [ "${bytes:-0}" -lt $(($1 * mib)) ] || [ "$bytes" -ge $((3 * size)) ]; then
        fail "$ran: resumed ${bytes:-nothing}, not $1 MiB or more"
    fi
}

# The partial file in a directory: exactly one, private.
partial_in() { find "$1" -name '.talaria-resume-*.part'; }

kept_in() {
    local found
    found=$(partial_in "$1")
    [ "$(find "$1" -name '.talaria-resume-*.part' | wc -l)" -eq 1 ] ||
        fail "$ran: not one partial file: $found"
    [ "$(stat -c '%a %u %h' "$found")" = "600 $(id -u) 1" ] ||
        fail "$ran: partial file: $(stat -c '%a %u %h' "$found")"
}

none_kept_in() {
    [ -z "$(partial_in "$1")" ] || fail "$ran: kept: $(partial_in "$1")"
}

# Waits until the server has noticed that its client has died.
settled() {
    until_true 5 grep -q 'kept to be resumed' "$server_err" ||
        fail "$ran: the server does not log what it keeps"
    : >"$server_err"
}

fresh() { rm -rf "${exported:?}"/* "$here/back"; }

put_again() {
    copy 0 put --resume --json "$here/large" "$address"
    same "$here/large" "$exported/large"
    none_kept_in "$exported"
}

get_again() {
    copy 0 get --resume --json "$address" large "$here/back"
    same "$exported/large" "$here/back"
    none_kept_in "$here"
}

# Before the 16th chunk, eight requests at a time: at least eight are complete.
test_put() {
    fresh
    trick read large 16 'kill -9 $PPID'
    copy_tricked 137 put --resume "$here/large" "$address"
    settled
    kept_in "$exported"
    put_again
    resumed 6

    fresh
    trick read large 16 'kill -TERM $PPID'
    copy_tricked 143 put --resume "$here/large" "$address"
    one_error "large: not copied, --resume continues"
    kept_in "$exported"
    put_again
    resumed 6

    fresh
    serve_end
    trick write '*' 16 'kill -9 $PPID'
    serve_tricked
    copy 1 put --resume "$here/large" "$address"
    played
    one_error "large: not copied, --resume continues"
    kept_in "$exported"
    wait "$server" 2>/dev/null
    serve
    put_again
    resumed 12
}

test_get() {
    fresh
    cp -p "$here/large" "$exported/large"
    trick write '*' 16 'kill -9 $PPID'
    copy_tricked 137 get --resume "$address" large "$here/back"
    kept_in "$here"
    get_again
    resumed 12

    rm "$here/back"
    trick write '*' 16 'kill -TERM $PPID'
    copy_tricked 143 get --resume "$address" large "$here/back"
    one_error "large: not copied, --resume continues"
    kept_in "$here"
    get_again
    resumed 12

    rm "$here/back"
    serve_end
    trick read large 16 'kill -9 $PPID'
    serve_tricked
    copy 1 get --resume "$address" large "$here/back"
    played
    one_error "large: not copied, --resume continues"
    wait "$server" 2>/dev/null
    serve
    kept_in "$here"
    get_again
    resumed 6
}

# A tree with several large files, interrupted twice.
test_tree() {
    local n name
    fresh
    mkdir -p "$here/tree/deep"
    for name in a deep/b c; do make_large "$here/tree/$name"; done
    for n in 1 2 3; do echo $n >"$here/tree/deep/$n"; done
    for name in a b; do
        trick read $name 16 'kill -9 $PPID'
        copy_tricked 137 put --resume "$here/tree" "$address"
        settled
    done
    copy 0 put --resume --json "$here/tree" "$address"
    resumed 1
    same "$here/tree" "$exported/tree"
    none_kept_in "$exported"
    mkdir "$here/back"
    for n in 20 40; do
        trick write '*' $n 'kill -9 $PPID'
        copy_tricked 137 get --resume "$address" tree "$here/back"
    done
    copy 0 get --resume --json "$address" tree "$here/back"
    same "$here/tree" "$here/back/tree"
    none_kept_in "$here"
    rm -rf "$here/tree" "$here/back"
}

interrupt_put() {
    fresh
    trick read large 20 'kill -TERM $PPID'
    copy_tricked 143 put --resume "$here/large" "$address"
    kept_in "$exported"
}

# Other bytes in the source, or in the partial file, fewer and more of them.
test_changed() {
    interrupt_put
    dd if=/dev/urandom of="$here/large" bs=1000 count=1 seek=2000 \
        conv=notrunc status=none
    put_again
    resumed 6

    interrupt_put
    head -c $((5 * mib)) /dev/urandom |
        dd of="$(partial_in "$exported")" bs=1M seek=2 conv=notrunc status=none
    put_again
    resumed 1

    interrupt_put
    truncate -s $((40 * mib)) "$(partial_in "$exported")"
    put_again
    resumed 6

    interrupt_put
    truncate -s $((10 * mib + 5)) "$here/large"
    put_again
    resumed 6
    truncate -s $size "$here/large"
    make_large "$here/large"
}

# Without --resume nothing is kept, and a kept part is removed.
test_without() {
    fresh
    trick read large 16 'kill -TERM $PPID'
    copy_tricked 143 put "$here/large" "$address"
    one_error "large: not copied"
    none_kept_in "$exported"
    interrupt_put
    copy 0 put "$here/large" "$address"
    none_kept_in "$exported"
    same "$here/large" "$exported/large"
    trick write '*' 16 'kill -TERM $PPID'
    copy_tricked 143 get --resume "$address" large "$here/back"
    kept_in "$here"
    copy 0 get "$address" large "$here/back"
    none_kept_in "$here"
    interrupt_put
    copy 0 get --resume "$address" . "$work/others"
    none_kept_in "$work/others"
    rm -r "$work/others"
}

# The name of a partial file is predictable: another file with that name is neither
# followed nor written.
test_not_ours() {
    local name made
    interrupt_put
    name=$(partial_in "$exported")
    for made in link second_name open_to_others pipe folder; do
        fresh
        rm -rf "$name"
        printf precious >"$exported/precious"
        chmod 600 "$exported/precious"
        case $made in
        link) ln -s precious "$name" ;;
        second_name) ln "$exported/precious" "$name" ;;
        open_to_others) printf 123 >"$name"; chmod 666 "$name" ;;
        pipe) mkfifo -m 600 "$name" ;;
        folder) mkdir "$name" ;;
        esac
        copy 0 put --resume "$here/large" "$address"
        err_empty
        same "$here/large" "$exported/large"
        [ "$(cat "$exported/precious")" = precious ] ||
            fail "$ran: wrote to what was there, $made"
        [ -e "$name" ] || fail "$ran: removed what was there, $made"
    done
    rm -rf "$name"

    # Another copy of the same file is using it.
    interrupt_put
    exec 9<>"$name"
    flock 9
    copy 0 put --resume --json "$here/large" "$address"
    [ -e "$name" ] || fail "$ran: removed a locked partial file"
    exec 9>&-
    rm -f "$name"
}

test_full_disk() {
    if [ "$COPY_TEST_PRIVATE" != yes ]; then
        echo "left out: no file system of its own to fill"
        return
    fi
    fresh
    mount -o remount,size=12m "$exported"
    copy 1 put --resume "$here/large" "$address"
    one_error "large: no space left"
    kept_in "$exported"
    mount -o remount,size=64m "$exported"
    put_again
    resumed 6
}

make_large "$here/large"
serve
test_put
test_get
test_tree
test_changed
test_without
test_not_ours
test_full_disk
serve_end
nothing_left
finish
