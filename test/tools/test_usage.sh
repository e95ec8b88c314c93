#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The command itself: help, version, invalid arguments, full disks.
. "$(dirname "$0")/lib.sh"

run 0 --help
out_has "Usage: talaria"
out_has "  info "
out_has "  manifest "
out_has "0 if it succeeds, 1 if it fails, 2 if"
err_empty
for tool in info manifest; do
    run 0 "$tool" --help
    out_has "Usage: talaria $tool"
    out_has "0 if it succeeds, 1 if it fails, 2 if"
done
run 0 --version
out_has "talaria $TALARIA_VERSION"

run 2
err_has "a subcommand is missing"
out_empty
run 2 frobnicate
err_has 'no subcommand "frobnicate"'
err_has "talaria help"
out_empty
run 2 inf
err_has 'no subcommand "inf": did you mean info?'
run 2 setings
err_has 'did you mean settings?'

# The same as --help.
"$TALARIA" --help >"$folder/wanted"
run 0 help
cmp -s "$out" "$folder/wanted" || fail "$ran: not what --help prints"
"$TALARIA" info --help >"$folder/wanted"
run 0 help info
cmp -s "$out" "$folder/wanted" || fail "$ran: not what info --help prints"
run 0 help copy
out_has "Usage: talaria copy"
run 2 help inf
err_has 'did you mean info?'
run 2 --frobnicate
err_has "frobnicate"
run 2 info --frobnicate
err_has "frobnicate"
run 2 info a b
err_has "one INFO at a time"
run 2 manifest
err_has "PLUGIN is missing"
run 2 manifest a b
err_has "one plugin at a time"
run 2 manifest a -o
run 1 check na+sm
err_has "na+sm: No such file or directory; expected the path of a plugin"
run 1 check ./na+sm.so
err_has "./na+sm.so: No such file or directory"

if [ -w /dev/full ]; then
    ran="talaria info, on a full disk"
    "$TALARIA" info >/dev/full 2>"$err"
    [ $? -eq 1 ] || fail "$ran: exit code"
    err_has "No space left"
    "$TALARIA" info --json >/dev/full 2>"$err"
    [ $? -eq 1 ] || fail "$ran: exit code with JSON"
fi
finish
