#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A user without permission to install gets an error before anything is built:
#
#   test_install.sh SOURCE_ROOT
#
# compat/readme installs. Exit status 0, or 1 with what failed.
set -u
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failures=0

# A copy, since another user may not read this clone.
mkdir -p "$work/top/tools" "$work/bin"
cp "$1/tools/install" "$1/tools/packages" "$1/tools/install-packages" \
    "$work/top/tools/"
for tool in env bash dirname id cat sed; do
    ln -s "$(command -v $tool)" "$work/bin/"
done
chmod -R a+rX "$work"
mkdir -m 777 "$work/free"
as=()
[ "$(id -u)" -ne 0 ] ||
    as=("$(command -v setpriv)" --reuid 65534 --regid 65534 --clear-groups)

# refused WORDS ARGUMENT...
refused() {
    local words=$1 output code
    shift
    output=$(cd / && PATH=$work/bin "${as[@]}" "$work/top/tools/install" "$@" 2>&1)
    code=$?
    if [ $code -ne 1 ] || [[ $output != "install: "*"$words"* ]] ||
        [[ $output = *$'\n'* ]]; then
        printf 'FAILED: %s: exit status %s: %s\n' "$*" $code "$output"
        failures=$((failures + 1))
    fi
}

refused '/usr/local may not be written by'
refused '/proc/nowhere may not be written by' --prefix=/proc/nowhere
refused 'with --prefix and a folder of your own' -Dprefix=/usr
refused '/usr/lib may not' --prefix "$work/free" --libdir /usr/lib
refused 'is not an absolute path' --prefix here
[ $failures -eq 0 ]
