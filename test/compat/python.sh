#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The project subprojects/python, built on what is installed, and its tests:
#
#   python.sh MESON BUILD_DIR SOURCE_ROOT
#
# Installs BUILD_DIR below a folder of its own, builds the package with that, and
# runs its tests over each transport that is there: na+sm, ofi+tcp, ucx+tcp. Over
# na+sm also with the package under AddressSanitizer. Exit status 0, 1 with what
# failed, or 77 without Python's headers.
set -u

if [ $# -ne 3 ] || [ ! -d "$3/subprojects/python" ]; then
    echo 'usage: python.sh MESON BUILD_DIR SOURCE_ROOT' >&2
    exit 1
fi
meson=$1 build=$2 source=$3/subprojects/python
for variable in ${!TALARIA_@} ${!HG_@} ${!NA_@} ${!PKG_CONFIG@} ${!PYTHON@} \
    CC DESTDIR; do
    unset "$variable"
done

# The distribution's Python, which has its NumPy.
python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3)
version='sys.version_info >= (3, 11)'
headers='sysconfig.get_path("include") + "/Python.h"'
if ! "$python" -c "import os, sys, sysconfig
sys.exit(not ($version and os.path.exists($headers)))"; then
    echo "skipped: $python is older than 3.11 or has no headers"
    exit 77
fi

tmp=$(realpath "$(mktemp -d)") || exit 1
trap 'rm -rf "$tmp"' EXIT

fail() {
    echo "FAIL $*"
    for log in "$tmp"/*.log; do
        [ -s "$log" ] && tail -n 60 "$log" | sed "s/^/    ${log##*/}: /"
    done
    exit 1
}

DESTDIR=$tmp/stage "$meson" install -C "$build" --no-rebuild --quiet \
    >"$tmp/install.log" 2>&1 || fail 'meson install'
: >"$tmp/install.log"
pc=$(find "$tmp/stage" -name talaria.pc)
prefix=$(sed -n 's/^prefix=//p' "$pc")
sed -i "s|^prefix=.*|prefix=$tmp/stage$prefix|" "$pc"
export PKG_CONFIG_PATH=${pc%/*} LD_LIBRARY_PATH=${pc%/pkgconfig/*}

# package NAME OPTION...: builds and installs, into $tmp/NAME.
package() {
    local name=$1
    shift
    {
        "$meson" setup "$tmp/build-$name" "$source" -Dwerror=true \
            -Dpython="$python" -Dtests=true "$@" &&
            ninja -C "$tmp/build-$name" &&
            DESTDIR=$tmp/$name "$meson" install -C "$tmp/build-$name" --quiet
    } >"$tmp/build.log" 2>&1 || fail "subprojects/python does not build: $*"
    : >"$tmp/build.log"
}

# try NAME INFO [VARIABLE=VALUE...]: the tests with that package.
try() {
    local name=$1 info=$2 folder
    shift 2
    folder=$(dirname "$(find "$tmp/$name" -name py.typed)")
    env PYTHONPATH="${folder%/*}" PYTHONMALLOC=debug \
        PYTHONDONTWRITEBYTECODE=1 TALARIA_TEST_INFO="$info" \
        TALARIA_TEST_PROGRAMS="$tmp/build-$name" "$@" \
        "$python" -W error::ResourceWarning -m unittest discover \
        -s "$source/test" -v >"$tmp/test.log" 2>&1 </dev/null ||
        fail "$info $*"
    grep -q '^Ran ' "$tmp/test.log" || fail "$info: no test ran"
    echo "$name $info: $(grep '^Ran ' "$tmp/test.log")"
    grep -i ' skipped ' "$tmp/test.log"
    : >"$tmp/test.log"
}

package plain
folder=$(dirname "$(find "$tmp/plain" -name py.typed)")
folder=${folder#"$tmp/plain"}
"$python" -c 'import site, sys; sys.exit(sys.argv[1] not in site.getsitepackages())' \
    "${folder%/*}" || fail "no folder for packages: $folder"
plugins=$LD_LIBRARY_PATH/talaria/plugins-1
for info in na+sm ofi+tcp ucx+tcp; do
    plugin=${info%+*}
    if [ -f "$plugins/libna_${plugin/na/sm}.so" ]; then
        try plain "$info"
    else
        echo "$info: not built"
    fi
done

# The interpreter is not instrumented: the sanitizer's library is preloaded, and
# leaks are not checked, since the interpreter keeps memory at its exit.
asan=$(cc -print-file-name=libasan.so)
if [ -f "$asan" ]; then
    package asan -Db_sanitize=address,undefined -Db_lundef=false
    try asan na+sm LD_PRELOAD="$asan" PYTHONMALLOC=malloc \
        ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=1:allocator_may_return_null=1 \
        UBSAN_OPTIONS=halt_on_error=1
fi
echo 'python.sh: ok'
