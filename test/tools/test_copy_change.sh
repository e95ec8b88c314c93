#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# talaria copy and files that change meanwhile, at every possible point, by a
# library preloaded into one side: files that cannot be copied are reported, the
# others are copied, and no partial file is left.
#
#   test_copy_change.sh BUILD_DIR TRICK
. "$(dirname "$0")/test_copy_common.sh"

trick=${2:?}
tree=$work/tree
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0

# trick CALL NAME COUNT COMMAND: for the next program; see copy_trick.c.
trick() {
    tricked=(env "LD_PRELOAD=$trick" "TRICK_CALL=$1" "TRICK_NAME=$2"
        "TRICK_COUNT=$3" "TRICK_DO=touch $work/was && $4")
    rm -f "$work/was"
}

# The trick must have been triggered.
played() {
    ran="$ran with ${tricked[*]:2}"
    [ -e "$work/was" ] || fail "$ran: the trick was not played"
    ! grep -q '^trick: ' "$err" "$server_err" || fail "$ran: the trick failed"
}

# copy_tricked CODE ARGUMENT...: a client with that library.
copy_tricked() {
    local wanted=$1 code
    shift
    ran="copy $*"
    timeout -k 5 60 "${tricked[@]}" "$talaria" copy "$@" >"$out" 2>"$err"
    code=$?
    played
    [ "$code" -eq "$wanted" ] || fail "$ran: exit code $code, not $wanted"
}

# The same with the library in the server.
serve_tricked() {
    wrapper=("${tricked[@]}")
    serve
    wrapper=()
}

bytes_of_b=3000000

# Seven files in two folders; b is the one that changes.
make_tree() {
    local name
    rm -rf "$1"
    mkdir -p "$1/dir"
    for name in a c d dir/e dir/f dir/g; do
        printf '%s' "$name" >"$1/$name"
    done
    head -c "$bytes_of_b" /dev/urandom >"$1/b"
}

# all_but_b DIR: the others are there, b is not, nor anything hidden.
all_but_b() {
    local found
    found=$(cd "$1" && find . -type f | LC_ALL=C sort | tr '\n' ' ')
    [ "$found" = "./a ./c ./d ./dir/e ./dir/f ./dir/g " ] ||
        fail "$ran: there is $found"
}

# put_goes_wrong TEXT: b fails when a client with the library puts the tree.
put_goes_wrong() {
    rm -rf "$exported/tree"
    copy_tricked 1 put "$tree" "$address"
    err_has "tree/b: $1"
    [ "$(wc -l <"$err")" -eq 1 ] || fail "$ran: more than one line"
    out_has "put: 6 files"
    out_has "1 failed"
    all_but_b "$exported/tree"
}

# get_goes_wrong TEXT: the same when the tree is got from such a server.
get_goes_wrong() {
    rm -rf "$work/got"
    serve_tricked
    copy 1 get "$address" tree "$work/got"
    played
    serve_end
    err_has "tree/b: $1"
    [ "$(wc -l <"$err")" -eq 1 ] || fail "$ran: more than one line"
    out_has "get: 6 files"
    out_has "1 failed"
    all_but_b "$work/got"
}

# Between walking the tree and opening b, which is removed or replaced.
test_put_opening() {
    local b=$tree/b
    while IFS='|' read -r text todo; do
        make_tree "$tree"
        trick open b 1 "rm $b ${todo//B/$b}"
        put_goes_wrong "$text"
    done <<'END'
no such file or directory|
changed while it was copied|&& mkfifo B
changed while it was copied|&& mkdir B
a symbolic link is in the way|&& ln -s a B
END
    # A file that was never listed is not missed; a named one is.
    make_tree "$tree"
    trick stat b 1 "rm $b"
    put_goes_wrong "no such file or directory"
}

# Between listing, stat and open: the second stat is that of the open.
test_get_opening() {
    local b=$exported/tree/b call
    for call in "stat b 2" "open b 1"; do
        while IFS='|' read -r text todo; do
            make_tree "$exported/tree"
            # shellcheck disable=SC2086
            trick $call "rm $b ${todo//B/$b}"
            get_goes_wrong "$text"
        done <<'END'
no such file or directory|
neither a file nor a directory|&& mkfifo B
is a directory|&& mkdir B
a symbolic link is in the way|&& ln -s a B
END
    done
    # A file removed during the listing is not reported.
    make_tree "$exported/tree"
    rm -rf "$work/got"
    trick stat b 1 "rm $b"
    serve_tricked
    copy 0 get "$address" tree "$work/got"
    played
    serve_end
    err_empty
    all_but_b "$work/got"
}

# The same for a folder; its files are not requested.
test_folders() {
    make_tree "$tree"
    trick open dir 1 "rm -r $tree/dir"
    rm -rf "$exported/tree"
    copy_tricked 1 put "$tree" "$address"
    err_has "tree/dir: no such file or directory"
    out_has "put: 4 files"
    serve_end
    make_tree "$exported/tree"
    rm -rf "$work/got"
    trick open dir 1 "rm -r $exported/tree/dir"
    serve_tricked
    copy 1 get "$address" tree "$work/got"
    played
    serve_end
    err_has "tree/dir: no such file or directory"
    out_has "get: 4 files"
    serve
}

# b has three chunks; it changes when the second is read.
while_it_is_read() {
    local b=$1 check=$2 todo
    for todo in "head -c 5000000 /dev/zero >>B" \
        "head -c 5000000 /dev/zero >>B && touch -d 2002-02-02 B" \
        "truncate -s 2000000 B" \
        "truncate -s 0 B" "touch -d 2001-01-01 B" \
        "printf x | dd of=B bs=1 seek=2500000 conv=notrunc status=none"; do
        make_tree "${b%/b}"
        touch -d 2002-02-02 "$b"
        trick read b 2 "${todo//B/$b}"
        $check "changed while it was copied"
    done
}

# The same for a small file, which is sent with others.
while_small_is_read() {
    local b=$tree/b todo
    bytes_of_b=20000
    test_put_opening
    for todo in "head -c 50000 /dev/zero >>B" \
        "head -c 50000 /dev/zero >>B && touch -d 2002-02-02 B" \
        "truncate -s 10000 B" "truncate -s 0 B" "touch -d 2001-01-01 B" \
        "printf x | dd of=B bs=1 seek=100 conv=notrunc status=none"; do
        make_tree "$tree"
        touch -d 2002-02-02 "$b"
        trick read b 1 "${todo//B/$b}"
        put_goes_wrong "changed while it was copied"
    done
    # Another size when it is opened is no change: it may be large by then.
    for todo in 0 19999 20001 32768 32769 5000000; do
        make_tree "$tree"
        rm -rf "$exported/tree"
        trick open b 1 "truncate -s $todo $b"
        copy_tricked 0 put "$tree" "$address"
        out_has "put: 7 files"
        same "$b" "$exported/tree/b"
    done
    bytes_of_b=3000000
}

# An unlinked file is read to its end; its replacement is not read.
while_it_is_renamed() {
    make_tree "$tree"
    rm -rf "$exported/tree"
    cp -a "$tree" "$work/before"
    trick read b 2 "rm $tree/b && printf new >$tree/b"
    copy_tricked 0 put "$tree" "$address"
    touch -r "$exported/tree" "$work/before"
    same "$work/before/b" "$exported/tree/b"
    rm -rf "$work/before"
}

# Partial writes, at either side.
test_short_writes() {
    export TRICK_SHORT=yes
    make_tree "$tree"
    rm -rf "$exported/tree" "$work/got"
    trick write '*' 1 true
    serve_tricked
    copy 0 put "$tree" "$address"
    played
    serve_end
    same "$tree/b" "$exported/tree/b"
    serve
    trick write '*' 1 true
    copy_tricked 0 get "$address" tree "$work/got"
    same "$tree/b" "$work/got/b"
    unset TRICK_SHORT
}

# Names of any byte, one at a time, for the commands with one name.
test_names() {
    local i name
    mkdir "$exported/names"
    for i in 1 9 10 27 32 34 39 42 45 63 92 126 127 128 155 160 192 237 255; do
        # shellcheck disable=SC2059
        name=$(printf "\\x$(printf '%02x' "$i")_")
        printf '%s' "$i" >"$work/$name"
        copy 0 put --into names "$work/$name" "$address"
        copy 0 stat --json "names/$name" "$address"
        [ "$(jq .size "$out")" = ${#i} ] || fail "$ran: another size"
        copy 0 ls "$address" "names/$name"
        copy 0 get "$address" "names/$name" "$work/got-$name"
        same "$work/$name" "$work/got-$name"
        copy 0 rm --json "names/$name" "$address"
        [ "$(jq -c . "$out")" = '{"command":"rm","removed":1,"failed":0}' ] ||
            fail "$ran: other JSON"
        rm "$work/$name" "$work/got-$name"
    done
    [ -z "$(ls -A "$exported/names")" ] || fail "names are left"
    copy 1 rm --json names nowhere "$address"
    [ "$(jq -c . "$out")" = '{"command":"rm","removed":0,"failed":2}' ] ||
        fail "$ran: other JSON"
}

# A server whose files may not grow beyond 1 MiB, and one whose disk is full.
test_limits() {
    make_tree "$tree"
    rm -rf "$exported/tree"
    serve_end
    # shellcheck disable=SC2016
    wrapper=(bash -c 'ulimit -f 1024 && exec "$@"' bash)
    serve
    wrapper=()
    copy 1 put "$tree" "$address"
    err_has "tree/b: file too large"
    out_has "put: 6 files"
    all_but_b "$exported/tree"
    # The previous file is still there.
    printf old >"$exported/tree/b"
    copy 1 put --force "$tree" "$address"
    err_has "tree/b: file too large"
    [ "$(cat "$exported/tree/b")" = old ] || fail "$ran: the old one was removed"
    nothing_left_in "$exported"
    serve_end
    serve
    if [ "$COPY_TEST_PRIVATE" = yes ] && mkdir "$exported/small" &&
        mount -t tmpfs -o size=2m tmpfs "$exported/small"; then
        mkdir "$exported/small/tree"
        printf old >"$exported/small/tree/b"
        copy 1 put --force -j 1 --into small "$tree" "$address"
        err_has "tree/b: no space left"
        out_has "put: 6 files"
        [ "$(cat "$exported/small/tree/b")" = old ] ||
            fail "$ran: the old one was removed"
        nothing_left_in "$exported/small"
        umount "$exported/small"
    else
        echo "left out: no small file system to fill"
    fi
}

serve
test_put_opening
serve_end
test_get_opening
serve
test_folders
while_it_is_read "$tree/b" put_goes_wrong
while_it_is_renamed
while_small_is_read
serve_end
while_it_is_read "$exported/tree/b" get_goes_wrong
test_short_writes
test_names
test_limits
serve_end
nothing_left
finish
