# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Helpers for tests of the command talaria. Needs $TALARIA, the command, and
# $TALARIA_TEST_PLUGINS, the folder of the test plugins.
set -u

command -v jq >/dev/null || { echo "skipped: no jq to read JSON with"; exit 77; }

umask 022
folder=$(mktemp -d "${TMPDIR:-/tmp}/talaria-test-XXXXXX") || exit 99
trap 'rm -rf "$folder"' EXIT
out=$folder/out
err=$folder/err
unset TALARIA_PLUGIN_PATH TALARIA_PLUGIN_FILES HG_LOG_LEVEL HG_LOG_SUBSYS
failures=0

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$*"
    sed 's/^/  out: /' "$out"
    sed 's/^/  err: /' "$err"
}

# run CODE ARGUMENT...: runs talaria, which exits with CODE. The command is kept
# for the messages of the checks that follow.
run() {
    wanted=$1
    shift
    ran="talaria $*"
    "$TALARIA" "$@" >"$out" 2>"$err"
    code=$?
    [ "$code" -eq "$wanted" ] || fail "$ran: exit code $code, not $wanted"
}

# Of the last run: a line of stdout or stderr has the text; no line has it; it
# printed nothing.
out_has() { grep -qF -- "$1" "$out" || fail "$ran: no \"$1\" in its output"; }
err_has() { grep -qF -- "$1" "$err" || fail "$ran: no \"$1\" in its errors"; }
out_lacks() { ! grep -qF -- "$1" "$out" || fail "$ran: \"$1\" in its output"; }
out_empty() { [ ! -s "$out" ] || fail "$ran: prints something"; }
err_empty() { [ ! -s "$err" ] || fail "$ran: prints errors"; }

# A jq filter yields true for the printed JSON.
json() {
    jq -e "$1" "$out" >/dev/null 2>&1 || fail "$ran: not so in its JSON: $1"
}

# copy VARIANT NAME: the test plugin, and its manifest.
copy() {
    cp "$TALARIA_TEST_PLUGINS/probe_$1.so" "$folder/$2.so"
    "$TALARIA" manifest "$folder/$2.so" -o "$folder/$2.json" || exit 99
}

finish() {
    [ "$failures" -eq 0 ] && exit 0
    echo "$failures failed"
    exit 1
}
