#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# README.md's first programs build and work as it describes, by its commands:
#
#   readme.sh SOURCE_ROOT            in a mount namespace, which needs root
#   readme.sh --here SOURCE_ROOT     installs on this machine, as this user
#
# Takes each block of C whose first line is a comment that names a file, and the
# commands of the block with tools/install: installs, builds, starts the server,
# and runs the client with its address, without any variable. The client must print
# the comment after its command. In the namespace, changes to /usr/local, /etc and
# /var/cache are discarded. Exit status 0, 1 with what failed, or 77 with a reason.
set -u
patience=30 # seconds

fail() {
    echo "FAIL $*"
    exit 1
}

here=false
if [ "${1-}" = --here ] || [ "${1-}" = --inside ]; then
    here=$1
    shift
fi
if [ $# -ne 1 ] || [ ! -r "$1/README.md" ]; then
    fail 'usage: readme.sh [--here] SOURCE_ROOT'
fi
source_root=$1 readme=$1/README.md
for variable in ${!TALARIA_@} ${!HG_@} ${!NA_@} ${!PKG_CONFIG@} ${!MESON@} \
    LD_LIBRARY_PATH DESTDIR; do
    unset "$variable"
done

skip() {
    echo "skipped: $*"
    exit 77
}

if [ $here = false ]; then
    [ "$(id -u)" -eq 0 ] || skip 'needs root for a mount namespace'
    unshare --mount true 2>/dev/null || skip 'no mount namespaces here'
    # shellcheck disable=SC2093
    exec unshare --mount bash "$0" --inside "$source_root"
fi

tmp=$(realpath "$(mktemp -d)") || exit 1
server=
clean_up() {
    if [ -n "$server" ]; then
        kill -KILL "$server"
        wait "$server"
    fi 2>/dev/null
    [ $here = --here ] || umount "$tmp/laid" 2>/dev/null
    rm -rf "$tmp"
}
trap clean_up EXIT

# over FOLDER: changes in it disappear with this namespace.
over() {
    local name=${1//\//-}
    mkdir "$tmp/laid/$name" "$tmp/laid/$name/"{upper,work} &&
        mount -t overlay overlay -o "lowerdir=$1" \
            -o "upperdir=$tmp/laid/$name/upper,workdir=$tmp/laid/$name/work" "$1"
}

if [ $here = --inside ]; then
    mkdir "$tmp/laid"
    { mount -t tmpfs tmpfs "$tmp/laid" && over /usr/local && over /etc &&
        over /var/cache; } || skip 'no overlay file systems here'
    # A previous installation must not be used.
    find /usr/local /etc/talaria -name '*talaria*' -delete 2>/dev/null
    ldconfig
fi

# Files, and what is printed in the other blocks.
awk -v dir="$tmp" '
    /^```/ && !inside { inside = 1; c = $0 == "```c"; first = 1; file = ""; next }
    /^```/ { inside = 0; if (file) close(file); next }
    !inside { next }
    first && c && match($0, /^\/\* *[a-z_]+\.c *\*\/$/) {
        file = dir "/" $2
    }
    { first = 0 }
    file { print > file; next }
    !c { print > (dir "/commands") }' "$readme"
for name in server client; do
    [ -s "$tmp/$name.c" ] || fail "no block of C is named $name.c"
    grep -q "^cc $name\\.c .*pkg-config.* talaria)" "$tmp/commands" ||
        fail "no command builds $name.c"
done
wanted=$(sed -n 's/^\.\/client .*# *//p' "$tmp/commands")
[ -n "$wanted" ] || fail 'no command documents what the client prints'

# The commands as they are, in the folder of the programs.
awk '/^tools\/install/ { found = 1 } found && /^cc / { print > "'"$tmp/build-commands"'" }' \
    "$tmp/commands"
install=$(grep -m 1 '^tools/install' "$tmp/commands") ||
    fail 'no command installs anything'
source=$tmp/source
mkdir "$source" && tar -c -C "$source_root" --exclude=./build --exclude=./.git . |
    tar -x -C "$source" || fail 'the source cannot be copied'
(cd "$source" && sh -c "$install") >"$tmp/output" 2>&1 </dev/null ||
    { cat "$tmp/output" && fail "$install"; }
cat "$tmp/output"

cd "$tmp" || exit 1
sh -ex build-commands >output 2>&1 || { cat output && fail 'a build command'; }
cat output

timeout "$patience" ./client >client-output 2>&1 </dev/null
[ $? -eq 1 ] && grep -q '^usage: client ADDRESS' client-output ||
    { cat client-output && fail 'the client without an address'; }

mkfifo address
./server na+sm >address 2>server-output </dev/null &
server=$!
exec 8<address
read -r -t "$patience" -u 8 address ||
    { cat server-output && fail 'the server prints no address'; }
timeout "$patience" ./client "$address" >client-output 2>&1 </dev/null
code=$?
cat client-output
[ $code -eq 0 ] || { cat server-output && fail "the client: exit status $code"; }
grep -qxF "$wanted" client-output || fail "the client doesn't print '$wanted'"

# The server may still run, or have ended with success.
kill -TERM "$server" 2>/dev/null
wait "$server"
code=$?
server=
[ $code -eq 0 ] || [ $code -eq $((128 + 15)) ] ||
    { cat server-output && fail "the server: exit status $code"; }
if [ -s server-output ]; then
    cat server-output
    fail 'the server complains'
fi
echo 'readme.sh: ok'
