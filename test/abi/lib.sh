# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Shared by the checks of this folder: failures are printed and counted, and the
# check continues.

failures=0

fail() {
    printf 'FAIL: %s\n' "$*"
    failures=$((failures + 1))
}

# Ends the check: 1 if anything failed.
finish() {
    if [ "$failures" -ne 0 ]; then
        printf '%s: %s failed\n' "$1" "$failures"
        exit 1
    fi
    printf '%s: ok\n' "$1"
    exit 0
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# Prints those of gcc and clang that are installed, one a line, and reports the
# others on stderr.
c_compilers() {
    local compiler
    for compiler in gcc clang; do
        if have "$compiler"; then
            printf '%s\n' "$compiler"
        else
            printf 'skipped: %s is not installed\n' "$compiler" >&2
        fi
    done
}
