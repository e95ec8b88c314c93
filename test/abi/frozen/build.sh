#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the small plugin of this folder as its binaries were built:
#
#   build.sh INCLUDE OUTPUT COMPILER [OPTION...]
#
#   build.sh ../../../abi libna_frozen-x86_64-gcc.so gcc
#   build.sh ../../../abi libna_frozen-x86_64-clang.so clang --target=x86_64-linux-gnu
#   build.sh ../../../abi libna_frozen-aarch64-gcc.so aarch64-linux-gnu-gcc
#   build.sh ../../../abi libna_frozen-aarch64-clang.so clang --target=aarch64-linux-gnu
#
# INCLUDE: the folder of na_plugin.h. Needs no C library; for another
# architecture, and with --target, lld. Committed binaries are never replaced: a
# later minor adds its own. Exit status 0 or the compiler's.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
include=$1 output=$2
shift 2
# shellcheck disable=SC2054 # commas are the linker's
options=(-std=c11 -O2 -ffreestanding -fno-builtin -fno-stack-protector
    -fno-asynchronous-unwind-tables -fvisibility=hidden -fPIC
    -Wall -Wextra -Wpedantic -Werror -shared -nostdlib
    -Wl,-z,defs,-z,relro,--build-id=none,--hash-style=gnu,-s)
# Otherwise a compiler may replace the loop in memcpy by a call of memcpy, and
# atomic operations by calls of a library.
for option in -fno-tree-loop-distribute-patterns -mno-outline-atomics; do
    ! "$@" -Werror "$option" -x c -fsyntax-only - </dev/null 2>/dev/null ||
        options+=("$option")
done
# GNU's linker aligns segments to 64 KiB for aarch64, which makes large files.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
case " $*" in
*' --target='* | *aarch64*)
    ln -s "$(command -v ld.lld)" "$tmp/ld.lld"
    options+=(-fuse-ld=lld -B"$tmp")
    ;;
esac
"$@" "${options[@]}" -I"$include" "$here"/*.c -o "$output"
