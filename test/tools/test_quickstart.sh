#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tools/quickstart over one transport, unchanged except for slow steps: few files,
# and replacements of the package manager and the build, which record their
# arguments and use the existing build. A soak runs the original on a fresh Debian.
#
#   test_quickstart.sh SOURCE_ROOT BUILD_DIR INFO
set -u
source=$1
build=$2
info=$3
plugin=${info%%+*}
[ "$plugin" != na ] || plugin=sm
if [ ! -e "$build/plugins/$plugin/libna_$plugin.so" ]; then
    echo "skipped: the plugin $plugin is not built here"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/talaria-quickstart-test-XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
asked=$work/asked
failures=0

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s: %s\n' "$info" "$*"
    sed 's/^/  out: /' "$work/out"
    sed 's/^/  asked: /' "$asked"
}

# stand_in NAME: creates a replacement of that name, from standard input.
stand_in() {
    { printf '#!/bin/bash\necho "%s $*" >>"%s"\n' "$1" "$asked" && cat; } \
        >"$work/bin/$1" && chmod +x "$work/bin/$1"
}

mkdir -p "$work/bin" "$work/top/tools" "$work/files/sub" "$work/tmp" || exit 99
cp "$source/tools/packages" "$work/top/tools/"
sed -e "s|^budget=.*|budget=$((2 << 20))|" \
    -e "/^places=(/,/)\$/c places=($work/files)" \
    "$source/tools/quickstart" >"$work/top/tools/quickstart"
for name in budget places; do
    [ "$(grep -c "^$name=" "$work/top/tools/quickstart")" -eq 1 ] || exit 99
done
for i in 1 2 3 4 5; do
    head -c $((i * i * 20000)) /dev/urandom >"$work/files/sub/$i"
done
chmod 751 "$work/files/sub/3"
stand_in dpkg-query <<<'printf installed'
stand_in apt-get <<<'exit 1'
stand_in meson <<END
mkdir -p "$work/top/build/quickstart" &&
    ln -sfn -t "$work/top/build/quickstart" "$build"/{core,plugins,tools} || exit
: >"$work/top/build/quickstart/build.ninja"
END
stand_in ninja <<<'exit 0'

# quickstart CODE
quickstart() {
    : >"$asked"
    PATH=$work/bin:$PATH TMPDIR=$work/tmp bash "$work/top/tools/quickstart" \
        "$info" >"$work/out" 2>&1
    local code=$?
    [ $code -eq "$1" ] || fail "exit status $code, not $1"
    [ -z "$(ls -A "$work/tmp")" ] || fail 'it leaves files behind'
    ! grep -qFf "$work/mark" /proc/[0-9]*/cmdline 2>/dev/null ||
        fail 'it leaves processes behind'
}

printf '%s\n' "$work/top" >"$work/mark"
quickstart 0
tail -n 1 "$work/out" |
    grep -q "^quickstart: done: 5 files, 1100000 bytes each way over $info," ||
    fail 'it does not end with a summary of the copies'
grep -q '^quickstart: a server is at ' "$work/out" || fail 'there is no server'
grep -qF 'both copies are equal' "$work/out" || fail 'it compares nothing'
# Only its own plugin and packages.
for name in ofi ucx; do
    state=disabled
    [ "$name" != "$plugin" ] || state=enabled
    [ "$(grep -o -- "-D$name=[a-z]*" "$asked" | tail -n 1)" = \
        "-D$name=$state" ] || fail "-D$name is not $state"
    for package in $(sed -n "s/^$name://p" "$source/tools/packages"); do
        found=disabled
        ! grep -q "^dpkg-query .* $package\$" "$asked" || found=enabled
        [ $found = $state ] || fail "$package, where -D$name is $state"
    done
done
grep -q '^dpkg-query .* ninja-build$' "$asked" || fail 'ninja is not requested'
! grep -q '^apt-get' "$asked" || fail 'it installs installed packages'

# A missing plugin is reported, and nothing is left.
stand_in ninja <<<'echo it does not compile; exit 1'
quickstart 1
grep -q '^quickstart: failed: ninja' "$work/out" || fail 'no message about what failed'
grep -q '^it does not compile' "$work/out" || fail 'the output is not shown'
[ $failures -eq 0 ]
