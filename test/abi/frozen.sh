#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A plugin that was built when 1.0 of the transport ABI was declared final works
# in today's core: its binaries in the folder frozen, as they were committed.
#
#   frozen.sh TALARIA gcc|clang              the binary of that compiler, for the
#                                            architecture that TALARIA is built for
#   frozen.sh TALARIA rebuilt HEADER_DIR CC...   built from the same sources now
#
# Lists it, opens it, moves messages, RPCs and bulk data, each compared byte by
# byte, within a process and between two, and runs the conformance kit. Under
# MESON_EXE_WRAPPER, if set. Exit status 0, 1 with what failed, or 77.
set -u
umask 022
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh disable=SC1091
. "$here/lib.sh"
if [ $# -lt 2 ]; then
    fail 'usage: frozen.sh TALARIA gcc|clang | TALARIA rebuilt HEADER_DIR CC...'
    finish frozen.sh
fi
read -ra talaria <<<"${MESON_EXE_WRAPPER-} $1"
which=$2
machine=$(LC_ALL=C readelf -h "$1" | sed -n 's/^ *Machine: *//p')
case $machine in
*X86-64*) machine=x86_64 ;;
AArch64) machine=aarch64 ;;
*)
    echo "skipped: no binary for $machine"
    exit 77
    ;;
esac
folder=$(mktemp -d "${TMPDIR:-/tmp}/talaria-frozen-XXXXXX") || exit 1
serving=
clean_up() {
    [ -z "$serving" ] || kill "$serving" 2>/dev/null
    wait
    rm -rf "$folder"
}
trap clean_up EXIT
patience=120
plugin=$folder/libna_frozen.so

if [ "$which" = rebuilt ]; then
    bash "$here/frozen/build.sh" "$3" "$plugin" "${@:4}" || fail 'the sources do not compile'
else
    (cd "$here/frozen" && sha256sum --quiet --strict -c SHA256SUMS) ||
        fail 'a binary is not what was committed first'
    cp "$here/frozen/libna_frozen-$machine-$which.so" "$plugin"
fi
cp "$here/frozen/libna_frozen.json" "$folder"
chmod -R go-w "$folder"
# It depends on no library and no symbol.
needed=$(LC_ALL=C readelf -dW "$plugin" | grep -c NEEDED)
lacking=$(nm -D --undefined-only "$plugin" 2>/dev/null | wc -l)
[ "$needed:$lacking" = 0:0 ] || fail "needs $needed libraries, lacks $lacking symbols"
size=$(stat -c %s "$plugin")
[ "$size" -le 40960 ] || fail "$size bytes"

export TALARIA_PLUGIN_FILES=$plugin
info=frozen+unix
run() {
    timeout "$patience" "${talaria[@]}" "$@" </dev/null
}
run info "$info" >"$folder/info" 2>&1 || fail 'talaria info'
grep -q '^note  *frozen at 1.0$' "$folder/info" ||
    fail "talaria info shows: $(cat "$folder/info")"
run settings frozen >"$folder/settings" 2>&1 || fail 'talaria settings'
grep -q 'frozen.kept' "$folder/settings" || fail 'its settings are not listed'

# move WHAT LEVEL SIZES INFO...
move() {
    run perf "$1" --level "$2" --size "$3" --verify --rounds 1 --operations 20 \
        --warm-up 0 "${@:4}" >"$folder/output" 2>&1 && return
    fail "perf $*"
    tail -n 20 "$folder/output"
}
all() {
    move lat na 64,1K "$@"
    move bw na 64,4K "$@"
    move lat rpc 64,64K "$@"
    move bw bulk 64,256K "$@"
}
all --local "$info"

# Between two processes.
mkfifo "$folder/first"
timeout "$patience" "${talaria[@]}" perf serve "$info" \
    >"$folder/first" 2>"$folder/serve" </dev/null &
serving=$!
read -r address <"$folder/first"
[[ $address == "$info"://* ]] || fail "the server's address is '$address'"
all "$address"
kill -TERM "$serving"
wait "$serving" || { fail 'perf serve'; cat "$folder/serve"; }
serving=

# Without the cases beyond its capabilities: it detects a dead peer by its socket,
# which stays open in a forked child.
cases=(--quick --rule 2 --rule 3 --rule 4 --rule 5 --rule 6)
[ "${TALARIA_TEST_SOAK-}" != 1 ] || cases=(--case '!(killed_with_child)')
"${talaria[@]}" check "${cases[@]}" "$plugin" >"$folder/check" 2>&1 </dev/null ||
    fail "the conformance kit: $(grep -A 12 '^FAILED' "$folder/check")"
tail -n 1 "$folder/check"
finish frozen.sh
