#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Talaria as a subproject of another project of Meson's:
#
#   subproject.sh MESON SOURCE_ROOT
#
# The project finds it as the dependency talaria. Its program runs from the
# build directory, where it finds the plugin na+sm; the project gets no tests, and
# no warnings that are errors. Exit status 0, or 1 with what failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../abi/lib.sh disable=SC1091
. "$here/../abi/lib.sh"

if [ $# -ne 2 ] || [ ! -f "$2/meson.build" ]; then
    echo 'usage: subproject.sh MESON SOURCE_ROOT' >&2
    exit 1
fi
meson=$1 source_root=$2
for variable in ${!TALARIA_@} ${!HG_@} ${!NA_@} ${!PKG_CONFIG@} \
    LD_LIBRARY_PATH; do
    unset "$variable"
done
tmp=$(realpath "$(mktemp -d)") || exit 1
trap 'rm -rf "$tmp"' EXIT
umask 022

# quiet WHAT COMMAND...: if it fails, its output is shown and the script ends.
quiet() {
    local what=$1
    shift
    "$@" >"$tmp/output" 2>&1 </dev/null && return
    sed 's/^/    /' "$tmp/output"
    fail "$what"
    finish subproject.sh
}

mkdir -p "$tmp/project/subprojects"
ln -s "$source_root" "$tmp/project/subprojects/talaria"
cp "$here/use_installed.c" "$tmp/project/"
cat >"$tmp/project/meson.build" <<'END'
project('user', 'c')
talaria = dependency('talaria', version: '>= 0.1', fallback: 'talaria')
plugin = dependency('talaria-plugin')
assert(plugin.get_variable(internal: 'abi_major') == '1')
exe = executable('user', 'use_installed.c', dependencies: talaria)
test('user', exe)
END

# A compiler with more warnings than ours: they are not errors in another
# project's build.
quiet 'meson setup' "$meson" setup -Doptimization=0 "$tmp/build" "$tmp/project" \
    -Dtalaria:ofi=disabled -Dtalaria:ucx=disabled -Dtalaria:tools=disabled \
    -Dc_args=-Wpadded
quiet 'ninja' ninja -C "$tmp/build"
grep -q 'warning: .*\[-Wpadded\]' "$tmp/output" ||
    fail 'the compiler prints no warning, so nothing is tested'
tests=$("$meson" test -C "$tmp/build" --no-rebuild --list 2>/dev/null)
case $tests in
user | user:user) ;; # Meson 1.12 names the project before it
*) fail "tests of the project: $tests" ;;
esac
where=$(timeout 60 "$tmp/build/user" 2>"$tmp/output") || {
    cat "$tmp/output"
    fail 'the program does not run from the build directory'
}
[ "$where" = beside_core ] || fail "it found the plugin in '$where'"
finish subproject.sh
