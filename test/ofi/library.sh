#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The plugin is not linked with libfabric, and names it in a note for packagers.
# Where libfabric is missing, broken, too old or another library, open fails with
# that reason: library.sh TALARIA PLUGIN OLD STRANGE, the last two built from
# library/fabric.c.
set -u
talaria=$1
plugin=$2
old=$3
strange=$4
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0

fail() {
    echo "FAIL $*"
    failed=1
}

# refused TEXT: with the folder's content open fails, and logs TEXT in one line.
refused() {
    LD_LIBRARY_PATH=$folder "$talaria" info ofi+tcp >"$folder/out" 2>&1 &&
        fail "$1: it opened"
    grep -q 'NA_PROTONOSUPPORT' "$folder/out" || fail "$1: another code"
    [ "$(grep -c '\[error\]' "$folder/out")" -eq 1 ] ||
        fail "$1: not one line at level error"
    grep -q "$1" "$folder/out" || fail "not reported: $1"
    [ $failed -eq 0 ] || cat "$folder/out"
}

if command -v readelf >/dev/null; then
    readelf -d "$plugin" | grep NEEDED | grep -q libfabric &&
        fail 'the plugin is linked with libfabric'
    readelf -d "$plugin" | grep NEEDED | grep -q libhwloc &&
        fail 'the plugin is linked with hwloc'
    readelf -p .note.dlopen "$plugin" | grep -q '"libfabric\.so\.1"' ||
        fail 'no note names libfabric.so.1'
fi
# The error names a restriction to other providers.
FI_PROVIDER=shm "$talaria" info ofi+tcp >"$folder/out" 2>&1 &&
    fail 'it opens a provider that is not permitted'
grep -q 'under FI_PROVIDER=shm; there are: shm$' "$folder/out" || {
    fail 'FI_PROVIDER is not reported'
    cat "$folder/out"
}
# An interface without an address cannot be used.
if unshare -n ip link add bare type veth peer name other 2>/dev/null; then
    unshare -n sh -c "ip link add bare type veth peer name other
        exec '$talaria' info ofi+tcp://bare" >"$folder/out" 2>&1 &&
        fail 'it opens at an interface without an address'
    grep -q 'NA_NODEV: device "bare" is not one that provider .* can use' \
        "$folder/out" || {
        fail 'an interface without an address is not reported'
        cat "$folder/out"
    }
else
    echo 'not tried: an interface without an address'
fi
# Without hwloc it uses the first of several devices, and logs that.
if grep -q 'libhwloc\.so\.15' "$plugin"; then
    : >"$folder/libhwloc.so.15"
    LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} HG_LOG_LEVEL=info \
        FI_AWKWARD_NICS=0000:02:00.0,0000:01:00.0 \
        "$talaria" info ofi+awkward >"$folder/out" 2>&1
    opened=$?
    if grep -q 'libfabric cannot be loaded: .*libhwloc' "$folder/out"; then
        echo 'not tried: without hwloc, with which libfabric is linked here'
    else
        [ $opened -eq 0 ] || fail 'without hwloc it does not open'
        grep -q 'nearest is not known: .*libhwloc.so.15: file too short' \
            "$folder/out" || fail 'hwloc is not reported'
        grep -q '^device  *awkward-0000:02:00.0$' "$folder/out" ||
            fail 'without hwloc it takes another than the first'
        [ $failed -eq 0 ] || cat "$folder/out"
    fi
    rm "$folder/libhwloc.so.15"
fi
: >"$folder/libfabric.so.1"
refused 'libfabric cannot be loaded: .*file too short'
cp "$old" "$folder/libfabric.so.1"
refused 'libfabric 1\.5 is too old: 1\.17 is needed'
cp "$strange" "$folder/libfabric.so.1"
refused 'libfabric cannot be loaded: libfabric\.so\.1 has no fi_version'
exit $failed
