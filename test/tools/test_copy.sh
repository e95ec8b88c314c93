#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# talaria copy without failing peers: trees in both directions, refusals,
# listings.
#
#   test_copy.sh BUILD_DIR [fallbacks]
. "$(dirname "$0")/test_copy_common.sh"

source=$work/source

# Names with every possible byte, and files of every kind.
make_tree() {
    local i byte
    mkdir -p "$source/empty dir" "$source/a/b/c/d/e/f" "$source/many"
    : >"$source/empty"
    printf x >"$source/-f"
    printf x >"$source/ "
    printf x >"$source/a/..."
    printf 'deep\n' >"$source/a/b/c/d/e/f/file"
    for i in $(seq 1 255); do
        [ "$i" -ne 47 ] || continue
        byte=$(printf '\\x%02x' "$i")
        # shellcheck disable=SC2059
        printf "$i" >"$source/a/byte_$(printf "${byte}_")"
    done
    printf long >"$source/$(printf 'n%.0s' $(seq 255))"
    for i in $(seq 1 100); do
        head -c $((i * 37)) /dev/urandom >"$source/many/$i"
    done
    head -c 50000000 /dev/urandom >"$source/large"
    # One chunk exactly, a byte less, a byte more.
    for i in 1048575 1048576 1048577; do
        head -c $i /dev/urandom >"$source/chunk_$i"
    done
    chmod 0700 "$source/empty"
    chmod 0444 "$source/-f"
    chmod 0750 "$source/a/b"
    mkdir "$source/read only"
    printf x >"$source/read only/file"
    chmod 0555 "$source/read only"
}

test_usage() {
    ran="no server"
    : >"$out"
    : >"$server_err"
    copy 2
    copy 2 frobnicate
    copy 2 serve na+sm
    copy 2 put "$source"
    copy 2 put -j 0 a na+sm://1-0
    copy 2 get na+sm://1-0 a
    copy 2 ls
    copy 0 --help
    out_has "talaria copy get"
    copy 0 put --help
    out_has "--into"
    out_has "foo/../bar is refused"
    copy 1 ls nonsense
    err_has "not an address"
    copy 1 ls nosuch+thing://x
    copy 1 ls na+sm://1-0
    copy 1 serve nosuch+thing "$work"
    copy 1 serve na+sm "$work/nowhere"
    err_has "no such file"
}

test_trees() {
    local count
    count=$(find "$source" -type f -printf x | wc -c)
    copy 0 put "$source" "$address"
    err_empty
    out_has "put: $count files"
    out_has "0 failed, 0 skipped"
    same "$source" "$exported/source"

    copy 0 get "$address" source "$work/back"
    err_empty
    out_has "get: $count files"
    same "$source" "$work/back"

    # Into a directory; several; one at a time.
    mkdir "$work/into"
    copy 0 get -j 1 "$address" source/a source/large "$work/into"
    same "$source/a" "$work/into/a"
    same "$source/large" "$work/into/large"
    copy 0 get "$address" source/large "$work/as"
    same "$source/large" "$work/as"
    copy 1 get "$address" source/a source/many "$work/nowhere"

    copy 0 put --into x/y/z -j 64 "$source/a" "$source/large" "$address"
    same "$source/a" "$exported/x/y/z/a"
    same "$source/large" "$exported/x/y/z/large"

    # The contents of a directory, and all that is exported.
    mkdir "$work/top"
    copy 0 put --into top "$source/a/." "$address"
    touch -r "$source/a" "$exported/top" # made by --into, not copied
    same "$source/a" "$exported/top"
    copy 0 get "$address" . "$work/all"
    same "$exported" "$work/all"
    rm -rf "$work/into" "$work/as" "$exported/x" "$exported/top" "$work/top"
    chmod -R u+w "$work/all" "$work/back"
    rm -rf "$work/all" "$work/back"
}

test_force() {
    printf new >"$work/large"
    copy 1 put "$work/large" --into source "$address"
    err_has "large: exists already"
    out_has "1 failed"
    same "$source/large" "$exported/source/large"
    copy 0 put -f "$work/large" --into source "$address"
    same "$work/large" "$exported/source/large"

    copy 1 get "$address" source/large "$work/large"
    err_has "exists already"
    cp -p "$source/large" "$exported/source/large"
    copy 0 get --force "$address" source/large "$work/large"
    same "$source/large" "$work/large"

    # File and directory do not replace each other.
    mkdir "$work/many"
    copy 1 get --force "$address" source/large source/empty "$work/large"
    copy 1 put --force "$work/large" --into source/many/1 "$address"
    err_has "not a directory"
    mkdir "$exported/source/dir" "$work/d"
    printf x >"$work/d/dir"
    copy 1 put --force "$work/d/dir" --into source "$address"
    err_has "is a directory"
    rm -rf "$work/large" "$work/many" "$work/d" "$exported/source/dir"
}

# A failure is reported, and the rest is copied.
test_failures() {
    mkdir "$work/mixed"
    printf a >"$work/mixed/a"
    printf b >"$work/mixed/b"
    mkfifo "$work/mixed/fifo"
    copy 0 put "$work/mixed" "$address"
    err_has "skipped $work/mixed/fifo: special file"
    out_has "put: 2 files, 2 bytes"
    out_has "0 failed, 1 skipped"
    rm "$exported/mixed/a"
    copy 1 put "$work/mixed" "$work/nowhere" "$address"
    err_has "mixed/b: exists already"
    err_has "nowhere: no such file or directory"
    out_has "put: 1 files"
    out_has "2 failed, 1 skipped"

    mkfifo "$exported/mixed/fifo"
    copy 0 get "$address" mixed "$work/got"
    err_has "skipped mixed/fifo: special file"
    out_has "get: 2 files, 2 bytes"
    copy 1 get "$address" mixed/b nowhere source/empty "$work/got"
    err_has "nowhere: no such file"
    err_has "mixed/b: exists already"
    out_has "get: 1 files, 0 bytes"
    rm -rf "$work/mixed" "$work/got" "$exported/mixed"
}

# Links are copied as links, except those that may lead out of the tree.
test_links() {
    local tree=$work/links name
    mkdir -p "$tree/d/e" "$work/target"
    printf x >"$tree/file"
    ln -s file "$tree/same"
    ln -s nowhere "$tree/dangling"
    ln -s ../../file "$tree/d/e/up"
    ln -s ../.. "$tree/d/e/top"
    ln -s $'a\n\xff' "$tree/bytes"
    touch -hd 2001-02-03T04:05:06.789Z "$tree/same" "$tree/d/e/up"
    touch -d 2002-02-03T04:05:06.789Z "$tree/d/e" "$tree/d" "$tree"
    copy 0 put "$tree" "$address"
    err_empty
    out_has "1 files"
    out_has "5 links"
    same "$tree" "$exported/links"
    copy 0 get "$address" links "$work/got"
    err_empty
    same "$tree" "$work/got"
    copy 1 put "$tree" "$address"
    err_has "same: exists already"
    copy 1 get "$address" links/same "$work/got"
    err_has "exists already"
    copy 0 put --resume "$tree" "$address"
    out_has "6 there already"
    ln -sfn other "$tree/same"
    copy 1 put --resume "$tree" "$address"
    err_has "same: exists already"
    copy 0 put --force "$tree" "$address"
    [ "$(readlink "$exported/links/same")" = other ] || fail "$ran: old link"

    # Links that may lead out, also by another link that is valid itself.
    mkdir "$tree/out"
    ln -s /etc/passwd "$tree/out/absolute"
    ln -s ../../secret "$tree/out/parent"
    ln -s .. "$tree/up"
    ln -s d/e/top/../secret "$tree/out/by_link"
    rm -rf "$exported/links"
    copy 1 put "$tree" "$address"
    for name in out/absolute out/parent up out/by_link; do
        err_has "links/$name: symbolic link that may leave the tree"
        [ ! -L "$exported/links/$name" ] || fail "$ran: $name is there"
    done
    out_has "5 links"
    out_has "4 failed"
    cp -a "$tree/." "$exported/links"
    rm -rf "$work/got"
    copy 1 get "$address" links "$work/got"
    for name in out/absolute out/parent up out/by_link; do
        err_has "links/$name: symbolic link that may leave the tree"
        [ ! -L "$work/got/$name" ] || fail "$ran: $name is there"
    done
    out_has "1 files"
    rm -rf "$tree" "$work/got" "$work/target" "$exported/links"
}

blocks() { stat -c %b "$1"; }

# Holes are preserved, wherever they are.
test_sparse() {
    truncate -s 40000000 "$work/hole"
    truncate -s 40000001 "$work/holes"
    printf x | dd of="$work/holes" bs=1 seek=20000000 conv=notrunc 2>/dev/null
    touch -d 2001-02-03T04:05:06.123456789Z "$work/hole" "$work/holes"
    copy 0 put "$work/hole" "$work/holes" "$address"
    mkdir "$work/got"
    copy 0 get "$address" hole holes "$work/got"
    for name in hole holes; do
        same "$work/$name" "$exported/$name"
        same "$work/$name" "$work/got/$name"
        [ "$(blocks "$exported/$name")" -lt 64 ] || fail "$ran: filled $name"
        [ "$(blocks "$work/got/$name")" -lt 64 ] || fail "$ran: filled $name"
    done
    rm -rf "$work/hole" "$work/holes" "$work/got" "$exported/hole" \
        "$exported/holes"
}

# Equal files are skipped, missing ones copied, and different ones refused.
test_resume() {
    local count
    count=$(find "$source" -type f -printf x | wc -c)
    copy 0 put "$source" --into r "$address"
    rm "$exported/r/source/large" "$exported/r/source/many/7"
    touch -d 2001-01-01 "$exported/r/source/many"
    copy 0 put --resume "$source" --into r "$address"
    err_empty
    out_has "put: 2 files"
    out_has "$((count - 2)) there already"
    same "$source" "$exported/r/source"
    printf y >"$exported/r/source/a/..."
    printf longer >"$exported/r/source/ "
    copy 1 put --resume "$source" --into r "$address"
    err_has "a/...: exists already"
    out_has "2 failed"
    copy 0 put --resume --force "$source" --into r "$address"
    out_has "put: 2 files"
    same "$source" "$exported/r/source"

    copy 0 get "$address" r/source "$work/r"
    rm "$work/r/large" "$work/r/many/7"
    printf y >"$work/r/a/..."
    copy 1 get --resume "$address" r/source/. "$work/r"
    err_has "a/...: exists already"
    out_has "get: 2 files"
    copy 0 get --resume --force "$address" r/source/. "$work/r"
    out_has "get: 1 files"
    diff -r "$source" "$work/r" >/dev/null || fail "$ran: differs"
    chmod -R u+w "$work/r" "$exported/r"
    rm -rf "$work/r" "$exported/r"
}

test_stat_and_rm() {
    printf 12345 >"$exported/one"
    chmod 0640 "$exported/one"
    touch -d 2001-02-03T04:05:06Z "$exported/one"
    copy 0 stat one "$address"
    out_has "type:  file"
    out_has "size:  5"
    out_has "mode:  0640"
    out_has "mtime: 2001-02-03T04:05:06Z"
    copy 0 stat --json one "$address"
    out_has '"mtime": 981173106'
    ln -s one "$exported/link"
    copy 0 stat --json link "$address"
    out_has '"target": "one"'
    copy 0 ls --json "$address"
    out_has '"name": "one"'
    copy 0 put --json --into json "$source/empty" "$address"
    out_has '"files": 1'
    copy 1 stat nowhere "$address"
    err_has "nowhere: no such file"
    copy 1 stat ../x "$address"
    err_has "leaves the directory"

    mkdir -p "$exported/tree/a/b" "$work/kept"
    printf x >"$work/kept/file"
    printf x >"$exported/tree/a/b/"$'\xff\n'
    ln -s "$work/kept" "$exported/tree/a/kept"
    copy 1 rm tree "$address"
    err_has "is a directory"
    copy 1 rm -r . "$address"
    copy 1 rm -r tree/a/kept/file "$address"
    err_has "a symbolic link is in the way"
    copy 1 rm nowhere one "$address"
    err_has "nowhere: no such file"
    [ ! -e "$exported/one" ] || fail "$ran: it is still there"
    copy 0 rm -r tree link json "$address"
    out_has "8 removed, 0 failed"
    [ ! -e "$exported/tree" ] || fail "$ran: it is still there"
    [ -e "$work/kept/file" ] || fail "$ran: removed through a link"
    rm -rf "$work/kept"
}

# A full disk, and a limit on the file size: a file without space is reported and
# leaves no partial file, the others are copied.
test_full() {
    mkdir "$work/tree" "$exported/small" "$work/small"
    head -c 3000000 /dev/urandom >"$work/tree/large"
    printf x >"$work/tree/little"
    if [ "$COPY_TEST_PRIVATE" = yes ] &&
        mount -t tmpfs -o size=1m tmpfs "$exported/small" &&
        mount -t tmpfs -o size=1m tmpfs "$work/small"; then
        copy 1 put -j 1 --into small "$work/tree" "$address"
        err_has "large: no space left"
        out_has "put: 1 files, 1 bytes"
        [ "$(ls -A "$exported/small/tree")" = little ] || fail "$ran: remains"
        cp -r "$work/tree" "$exported/full"
        copy 1 get -j 1 "$address" full "$work/small"
        err_has "large: no space left"
        out_has "get: 1 files, 1 bytes"
        [ "$(ls -A "$work/small/full")" = little ] || fail "$ran: remains"
        umount "$exported/small" "$work/small"
    else
        echo "left out: no small file systems to fill"
        cp -r "$work/tree" "$exported/full"
    fi
    talaria_limited get "$address" full "$work/small"
    err_has "large: file too large"
    out_has "get: 1 files, 1 bytes"
    [ "$(ls -A "$work/small/full")" = little ] || fail "$ran: remains"
    rm -rf "$work/tree" "$work/small" "$exported/full" "$exported/small"
}

# Fails, with files of 1 MiB at most.
talaria_limited() {
    local code
    ran="copy $* with a limit"
    (ulimit -f 1024 && exec timeout -k 5 60 "$talaria" copy "$@") \
        >"$out" 2>"$err"
    code=$?
    [ "$code" -eq 1 ] || fail "$ran: exit code $code, not 1"
}

# Missing permissions. Root has all of them, so both sides run as another user:
# the transport admits the same user only.
test_denied() {
    wrapper=()
    [ "$(id -u)" -ne 0 ] ||
        wrapper=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    mkdir "$work/tree" "$work/into"
    printf x >"$work/tree/a"
    printf x >"$work/tree/b"
    rm -rf "$exported"
    mkdir "$exported" "$exported/locked"
    chmod 0711 "$work"
    chmod 0 "$work/tree/a"
    chmod 0777 "$exported" "$work/into"
    chmod 0555 "$exported/locked"
    "${wrapper[@]}" "$talaria" info >/dev/null 2>&1 ||
        { echo "left out: no other user may run the command"; return; }
    serve
    denied put "$work/tree" "$address"
    err_has "tree/a: permission denied"
    out_has "put: 1 files"
    [ "$(ls -A "$exported/tree")" = b ] || fail "$ran: not b alone"
    denied put --into locked "$work/tree/b" "$address"
    err_has "b: permission denied"
    [ -z "$(ls -A "$exported/locked")" ] || fail "$ran: something is there"
    chmod 0 "$exported/tree/b"
    printf x >"$exported/tree/c"
    chmod 0644 "$exported/tree/c"
    denied get "$address" tree "$work/into"
    err_has "tree/b: permission denied"
    [ "$(ls -A "$work/into/tree")" = c ] || fail "$ran: not c alone"
    denied rm locked/x tree/c locked "$address"
    serve_end
    wrapper=()
    rm -rf "$work/tree" "$work/into"
}

# denied ARGUMENT...: as the user of the server, and fails.
denied() {
    local code
    ran="copy $* as another user"
    timeout -k 5 60 "${wrapper[@]}" "$talaria" copy "$@" >"$out" 2>"$err"
    code=$?
    [ "$code" -eq 1 ] || fail "$ran: exit code $code, not 1"
}

# Nothing outside the exported directory is read, listed or written.
test_climbing() {
    local path
    printf secret >"$work/secret"
    mkdir "$work/outside" "$work/got"
    printf secret >"$work/outside/secret"
    ln -s ../outside "$exported/out"
    ln -s ../secret "$exported/secret"
    ln -s "$work" "$exported/absolute"
    ln -s .. "$exported/source/up"
    for path in ../secret .. source/../../secret "$work/secret" / \
        source/up/../secret; do
        copy 1 get "$address" "$path" "$work/got"
        err_has "leaves the directory"
        copy 1 ls "$address" "$path"
        err_has "leaves the directory"
    done
    for path in out/secret absolute/secret source/up/source/empty; do
        copy 1 get "$address" "$path" "$work/got"
        err_has "a symbolic link is in the way"
        copy 1 ls "$address" "$path"
        err_has "a symbolic link is in the way"
    done
    for path in .. ../outside "$work/outside" source/../../outside; do
        copy 1 put --into "$path" "$source/many/1" "$address"
        err_has "leaves the directory"
    done
    for path in out absolute out/new absolute/outside; do
        copy 1 put --into "$path" "$source/many/1" "$address"
        err_has "a symbolic link is in the way"
    done
    # The link itself is replaced, not what it points to.
    printf mine >"$work/got/secret"
    copy 0 put --force "$work/got/secret" "$address"
    [ "$(cat "$work/secret")" = secret ] || fail "$ran: wrote through a link"
    [ ! -L "$exported/secret" ] || fail "$ran: the link is still there"
    [ "$(ls "$work/outside")" = secret ] || fail "something was written outside"

    # Nor through links of the target's, when a client gets.
    ln -s "$work/outside" "$work/got/many"
    copy 1 get "$address" source/many "$work/got"
    [ "$(ls "$work/outside")" = secret ] || fail "$ran: wrote through a link"
    rm -rf "$work/got" "$work/outside" "$work/secret" "$exported/out" \
        "$exported/secret" "$exported/absolute" "$exported/source/up"
}

test_long_names() {
    local dir=$work/long name i
    name=$(printf 'd%.0s' $(seq 200))
    mkdir "$dir"
    printf x >"$dir/short"
    (
        cd "$dir" || exit
        for i in $(seq 1 25); do
            mkdir "$name" && cd "$name" || exit
        done
        printf x >deep
    )
    copy 1 put "$dir" "$address"
    err_has "name too long"
    [ -f "$exported/long/short" ] || fail "$ran: the rest was not copied"
    # Around the limit a path is either accepted or too long: requests that don't
    # fit into a message would end the connection.
    for i in $(seq 3600 7 4200); do
        copy 1 ls "$address" "$(printf 'x/%.0s' $(seq $((i / 2))))"
        grep -qE 'name too long|no such file' "$err" ||
            fail "$ran: another error"
    done
    copy 1 ls "$address" "$(printf 'x/%.0s' $(seq 3000))"
    err_has "name too long"
    copy 1 ls "$address" "$(printf 'x%.0s' $(seq 256))"
    err_has "name too long"
    rm -rf "$dir" "$exported/long"
}

test_listing() {
    local i
    mkdir "$exported/listed" "$exported/listed/dir"
    for i in $(seq 1 3000); do
        : >"$exported/listed/a_name_that_is_not_too_short_$i"
    done
    copy 0 ls "$address" listed
    err_empty
    [ "$(wc -l <"$out")" -eq 3001 ] || fail "$ran: $(wc -l <"$out") lines"
    awk '{ print $4 }' "$out" | cmp -s - <(LC_ALL=C ls "$exported/listed") ||
        fail "$ran: other names"
    out_has "d "
    copy 0 get "$address" listed "$work/listed"
    same "$exported/listed" "$work/listed"

    mkdir "$exported/odd"
    printf 12345 >"$exported/odd/"$'a\tb\x1b[31m\nc\\'
    ln -s x "$exported/odd/link"
    mkfifo "$exported/odd/pipe"
    touch -d 2001-02-03T04:05:06Z "$exported/odd/"$'a\tb\x1b[31m\nc\\'
    copy 0 ls "$address" odd
    out_has '-            5 2001-02-03T04:05:06Z a\x09b\x1b[31m\x0ac\x5c'
    grep -q '^l .* link$' "$out" || fail "$ran: no link"
    grep -q '^? .* pipe$' "$out" || fail "$ran: no pipe"
    copy 0 ls "$address" odd/link
    [ "$(wc -l <"$out")" -eq 1 ] || fail "$ran: not one line"
    mkdir "$exported/odd/empty"
    copy 0 ls "$address" odd/empty
    [ ! -s "$out" ] || fail "$ran: not empty"
    copy 1 ls "$address" nowhere
    err_has "nowhere: no such file"
    copy 0 ls "$address"
    out_has " odd"
    rm -rf "$exported/listed" "$exported/odd" "$work/listed"
}

test_two_clients() {
    local first second
    "$talaria" copy put "$source" --into one "$address" >"$work/one" 2>&1 &
    first=$!
    "$talaria" copy put "$source" --into two "$address" >"$work/two" 2>&1 &
    second=$!
    wait "$first" || fail "the first of two fails: $(cat "$work/one")"
    wait "$second" || fail "the second of two fails: $(cat "$work/two")"
    ran="two clients"
    same "$source" "$exported/one/source"
    same "$source" "$exported/two/source"
    chmod -R u+w "$exported/one" "$exported/two"
    rm -rf "$exported/one" "$exported/two"
}

# A file that is written to while it is read never appears half old, half new.
test_changing() {
    local writer
    truncate -s 64M "$work/changing" "$exported/changing"
    (while :; do printf x >>"$work/changing"; done) &
    writer=$!
    copy 1 put --into fresh "$work/changing" "$address"
    kill -9 $writer
    wait $writer 2>/dev/null
    err_has "changed while it was copied"
    [ ! -e "$exported/fresh/changing" ] || fail "$ran: it is there"
    (while :; do printf x >>"$exported/changing"; done) &
    writer=$!
    copy 1 get "$address" changing "$work/gotten"
    kill -9 $writer
    wait $writer 2>/dev/null
    err_has "changed while it was copied"
    [ ! -e "$work/gotten" ] || fail "$ran: it is there"
    rm -rf "$work/changing" "$exported/changing" "$exported/fresh"
}

test_address_file() {
    printf old >"$work/address"
    serve --address-file "$work/address"
    [ "$(cat "$work/address")" = "$address" ] || fail "another address in a file"
    copy 0 ls "$address"
    serve_end
    [ ! -e "$work/address" ] || fail "the address file is still there"
    serve --address-file "$work/address"
    printf other >"$work/other" && mv "$work/other" "$work/address"
    serve_end
    [ -e "$work/address" ] || fail "another server's address file was removed"
}

# The same on a system without some features.
test_fallbacks() {
    rm -rf "$exported"
    mkdir "$exported"
    serve
    test_trees
    test_force
    test_climbing
    chmod -R u+w "$exported"
    nothing_left_in "$exported"
    serve_end
    wrapper=()
}

make_tree
if [ "${2:-}" = fallbacks ]; then
    wrap_without_proc && test_fallbacks
    wrap_with_older_kernel && test_fallbacks
    nothing_left
    finish
fi
test_usage
serve
test_trees
test_force
test_failures
test_links
test_sparse
test_resume
test_stat_and_rm
test_full
test_climbing
test_long_names
test_listing
test_two_clients
test_changing
[ ! -s "$server_err" ] || fail "the server printed errors"
serve_end
test_address_file
chmod -R u+w "$exported"
test_denied
chmod -R u+w "$exported"
nothing_left
finish
