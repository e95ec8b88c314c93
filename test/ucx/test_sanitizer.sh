#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# AddressSanitizer still reports a crash in a process that uses UCX:
#
#   test_sanitizer.sh CRASH
#
# CRASH is crash.c, built with it. NA_UCX_PLUGIN is the plugin's path.
set -u
unset LD_PRELOAD # AddressSanitizer must be the first library
text=$(ASAN_OPTIONS=handle_segv=1:detect_leaks=0 "$1" 2>&1)
case $text in
*AddressSanitizer:\ SEGV*)
    echo ok
    ;;
*)
    printf 'FAIL no report of AddressSanitizer:\n%s\n' "$text"
    exit 1
    ;;
esac
