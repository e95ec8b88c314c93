#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The programs that README.md prints do what it says of them:
#
#   readme.sh MESON BUILD_DIR README
#
# Takes each block of C whose first line is a comment that names a file, builds
# them by the commands that README prints (lines with pkg-config, outside these
# blocks) on what BUILD_DIR installs, starts the server, and runs the client
# with its address. What README says behind the client's command has to come
# out. Exit status 0, or 1 with what failed.
set -u
patience=30 # seconds

fail() {
    echo "FAIL $*"
    exit 1
}

if [ $# -ne 3 ] || [ ! -r "$3" ]; then
    fail 'usage: readme.sh MESON BUILD_DIR README'
fi
meson=$1 build=$2 readme=$3
for variable in ${!TALARIA_@} ${!HG_@} ${!NA_@} ${!PKG_CONFIG@}; do
    unset "$variable"
done

tmp=$(realpath "$(mktemp -d)") || exit 1
server=
clean_up() {
    if [ -n "$server" ]; then
        kill -KILL "$server"
        wait "$server"
    fi 2>/dev/null
    rm -rf "$tmp"
}
trap clean_up EXIT

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
[ -n "$wanted" ] || fail 'nothing is said of what comes from the client'

# Installed below a folder, which the linker and the loader are told of as they
# would know of the real place.
DESTDIR=$tmp/stage "$meson" install -C "$build" --no-rebuild --quiet \
    >"$tmp/said" 2>&1 || { cat "$tmp/said" && fail 'meson install'; }
pc=$(find "$tmp/stage" -name talaria.pc)
export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$tmp/stage
export LD_LIBRARY_PATH=${pc%/pkgconfig/*}

cd "$tmp" || exit 1
grep 'pkg-config' commands >build-commands
sh -ex build-commands >said 2>&1 || { cat said && fail 'a build command'; }
cat said

mkfifo address
./server na+sm >address 2>server-said </dev/null &
server=$!
exec 8<address
read -r -t "$patience" -u 8 address ||
    { cat server-said && fail 'the server prints no address'; }
timeout "$patience" ./client "$address" >client-said 2>&1 </dev/null
code=$?
cat client-said
[ $code -eq 0 ] || { cat server-said && fail "the client: exit status $code"; }
grep -qxF "$wanted" client-said || fail "the client doesn't print '$wanted'"

# The server may go on serving, or have ended well.
kill -TERM "$server" 2>/dev/null
wait "$server"
code=$?
server=
[ $code -eq 0 ] || [ $code -eq $((128 + 15)) ] ||
    { cat server-said && fail "the server: exit status $code"; }
if [ -s server-said ]; then
    cat server-said
    fail 'the server complains'
fi
echo 'readme.sh: ok'
