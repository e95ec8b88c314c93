#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# talaria copy killed during --force and during a tree, by a library preloaded into
# one side that kills it right before a call: a target is the complete old file or
# the complete new one, and --resume copies the rest.
#
#   test_copy_force.sh BUILD_DIR TRICK
. "$(dirname "$0")/test_copy_common.sh"

trick=${2:?}
tree=$work/tree
count=120 # files of the tree
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0

# killed_at CALL NAME COUNT: for the next program; see copy_trick.c.
killed_at() {
    # shellcheck disable=SC2016
    tricked=(env "LD_PRELOAD=$trick" "TRICK_CALL=$1" "TRICK_NAME=$2"
        "TRICK_COUNT=$3" 'TRICK_DO=kill -9 $PPID')
}

# client_killed ARGUMENT...: a client with that library, which must kill it.
# The server drops the partial put when it notices.
client_killed() {
    local code
    ran="copy $* killed at ${tricked[*]:2:3}"
    timeout -k 5 60 "${tricked[@]}" "$talaria" copy "$@" >"$out" 2>"$err"
    code=$?
    [ "$code" -eq 137 ] || fail "$ran: exit code $code, not 137"
    [ "$1" = get ] || until_true 5 client_forgotten ||
        fail "$ran: the server does not notice"
    : >"$server_err"
}

client_forgotten() { has_line 'talaria copy: client [0-9]*: ' "$server_err"; }

# server_killed ARGUMENT...: the same for the server; checks its client's output.
server_killed() {
    wrapper=("${tricked[@]}")
    serve
    wrapper=()
    copy 1 "${@//ADDRESS/$address}"
    ran="$ran, the server killed at ${tricked[*]:2:3}"
    wait_code "$server" 5
    [ "$waited" = 137 ] || fail "$ran: the server ended with $waited"
    err_has "lost the server"
}

# is_one FILE OLD NEW: it equals one of them, with its mode and time; sets found to
# its name.
is_one() {
    local name
    for name in "$2" "$3"; do
        if cmp -s "$1" "$name" &&
            [ "$(stat -c '%a %Y' "$1")" = "$(stat -c '%a %Y' "$name")" ]; then
            found=${name##*/}
            return
        fi
    done
    found=neither
    fail "$ran: $1 is neither the old file nor the new one"
}

# The calls of a side that writes, in their order: the second of three chunks,
# the name tried first, the hidden one, and the step that replaces.
test_force() {
    local point wanted
    mkdir "$work/new" "$work/into"
    head -c 3000000 /dev/urandom >"$work/old"
    head -c 3500000 /dev/urandom >"$work/new/new"
    chmod 640 "$work/old"
    touch -d 2001-01-01 "$work/old"
    for point in "link new 1" "link * 2" "rename new 1"; do
        wanted=old
        cp -p "$work/old" "$exported/new"
        # shellcheck disable=SC2086
        set -f && killed_at $point && set +f
        server_killed put --force "$work/new/new" ADDRESS
        is_one "$exported/new" "$work/old" "$work/new/new"
        [ "$found" = $wanted ] || fail "$ran: the target is the $found one"
        remains "$exported"

        cp -p "$work/old" "$work/into/new"
        cp -p "$work/new/new" "$exported/new"
        serve
        client_killed get --force "$address" new "$work/into"
        is_one "$work/into/new" "$work/old" "$work/new/new"
        [ "$found" = $wanted ] || fail "$ran: the target is the $found one"
        remains "$work/into"
        serve_end
    done
    # By the side that reads.
    cp -p "$work/old" "$exported/new"
    serve
    killed_at read new 2
    client_killed put --force "$work/new/new" "$address"
    is_one "$exported/new" "$work/old" "$work/new/new"
    [ "$found" = old ] || fail "$ran: the target is the $found one"
    serve_end
    cp -p "$work/old" "$work/into/new"
    cp -p "$work/new/new" "$exported/new"
    server_killed get --force ADDRESS new "$work/into"
    is_one "$work/into/new" "$work/old" "$work/new/new"
    # The next copy works.
    serve
    copy 0 put --force "$work/new/new" "$address"
    same "$work/new/new" "$exported/new"
    copy 0 get --force "$address" new "$work/into"
    same "$work/new/new" "$work/into/new"
    serve_end
    rm -rf "$work/old" "$work/new" "$work/into" "$exported/new"
}

# Between the hidden name and the final one it is complete, with the hidden name.
remains() {
    local file
    while IFS= read -r -d '' file; do
        cmp -s "$file" "$work/new/new" || fail "$ran: $file is half of it"
        case ${tricked[2]} in
        *rename) rm "$file" ;;
        *) fail "$ran: left $file" ;;
        esac
    done < <(find "$1" -name '.talaria-*' -print0)
}

# At random moments.
test_any_moment() {
    local i pid
    head -c 40000000 /dev/urandom >"$work/old"
    head -c 40000000 /dev/urandom >"$work/target"
    mkdir "$work/dir"
    mv "$work/target" "$work/dir/target"
    cp -p "$work/old" "$exported/target"
    for i in $(seq 1 10); do
        serve
        "$talaria" copy put --force "$work/dir/target" "$address" \
            >"$out" 2>"$err" &
        pid=$!
        sleep "0.0$((RANDOM % 60 + 10))"
        if [ $((i % 2)) -eq 0 ]; then
            kill -9 $pid 2>/dev/null
            wait $pid 2>/dev/null
        else
            kill -9 "$server"
            wait $pid "$server" 2>/dev/null
        fi
        ran="a put that is killed"
        is_one "$exported/target" "$work/old" "$work/dir/target"
        [ "$found" = old ] || cp -p "$work/old" "$exported/target"
        if [ $((i % 2)) -eq 0 ]; then
            serve_end
        else
            find "$exported" -name '.talaria-*' -delete
        fi
    done
    rm -r "$work/old" "$work/dir" "$exported/target"
}

make_tree() {
    local i
    mkdir -p "$tree/sub/subsub"
    for i in $(seq 1 $count); do
        case $((i % 3)) in
        0) head -c $((i * 1000)) /dev/urandom >"$tree/f$i" ;;
        1) head -c $((i * 10)) /dev/urandom >"$tree/sub/f$i" ;;
        2) printf '%s' "$i" >"$tree/sub/subsub/f$i" ;;
        esac
    done
    : >"$tree/sub/empty"
    head -c 5000000 /dev/urandom >"$tree/large"
    count=$((count + 2))
    ln -s large "$tree/link"
    chmod 750 "$tree/sub"
    touch -d 2001-01-01 "$tree/sub/subsub" "$tree/sub" "$tree"
}

# whole DIR: its files equal those of the tree; sets there to their number.
whole() {
    local file
    there=0
    while IFS= read -r -d '' file; do
        cmp -s "$tree/$file" "$1/$file" || fail "$ran: $file is not whole"
        there=$((there + 1))
    done < <(cd "$1" && find . -type f -print0)
    [ "$there" -gt 0 ] && [ "$there" -lt $count ] ||
        fail "$ran: $there of $count files are there"
}

# resumed: the last copy has skipped the existing files, and copied the rest.
resumed() {
    local links=$1
    err_empty
    [ "$(jq '.files, .present - '"$links"', .failed' "$out" | tr '\n' ' ')" = \
        "$((count - there)) $there 0 " ] ||
        fail "$ran: $there of $count were there"
}

# link_is_there DIR: 1 or 0.
link_is_there() { [ -L "$1/link" ] && echo 1 || echo 0; }

test_resume_put() {
    local links at
    for at in "client open * 60" "client read large 3" "server link * 40" \
        "server open * 70"; do
        rm -rf "$exported/tree"
        # shellcheck disable=SC2086
        set -f && killed_at ${at#* } && set +f
        if [ "${at%% *}" = client ]; then
            serve
            client_killed put "$tree" "$address"
        else
            server_killed put "$tree" ADDRESS
            serve
        fi
        nothing_left_in "$exported"
        whole "$exported/tree"
        links=$(link_is_there "$exported/tree")
        copy 0 put --resume --json "$tree" "$address"
        resumed "$links"
        same "$tree" "$exported/tree"
        serve_end
    done
}

test_resume_get() {
    local links at
    for at in "client link * 40" "client open * 90" "server read * 60" \
        "server open * 80"; do
        rm -rf "$work/got"
        # shellcheck disable=SC2086
        set -f && killed_at ${at#* } && set +f
        if [ "${at%% *}" = client ]; then
            serve
            client_killed get "$address" tree "$work/got"
        else
            server_killed get ADDRESS tree "$work/got"
            serve
        fi
        nothing_left_in "$work/got"
        whole "$work/got"
        links=$(link_is_there "$work/got")
        copy 0 get --resume --json "$address" tree/. "$work/got"
        resumed "$links"
        [ "${at%% *}" = server ] || touch -r "$tree" "$work/got"
        diff -r --no-dereference "$tree" "$work/got" >"$work/diff" ||
            fail "$ran: $(head -3 "$work/diff")"
        serve_end
    done
}

make_tree
test_force
test_any_moment
test_resume_put
test_resume_get
nothing_left
finish
