#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# talaria manifest: its output, and its errors.
. "$(dirname "$0")/lib.sh"

plugins=$TALARIA_TEST_PLUGINS

# The trap aborts when one of its functions is called.
run 0 manifest "$plugins/probe_trap.so"
err_empty
json '.format == "1.0"'
json '.plugin.name == "probe" and .plugin.version == "1.2.3"'
json '.plugin.library_path == "probe_trap.so"'
json '.plugin.abi == {"major": 1, "minor": 0, "min_host_minor": 0}'
json '.plugin.protocols == ["alpha", "beta"] and .plugin.priority == 10'
json '.plugin | has("other_protocols") | not'

run 0 manifest "$plugins/probe_lists_none.so"
json '.plugin.protocols == [] and .plugin.other_protocols == true'

run 0 manifest -o "$folder/m.json" "$plugins/probe_good.so"
out_empty
jq -e '.plugin.library_path == "probe_good.so"' "$folder/m.json" >/dev/null ||
    fail "$ran: what it wrote"

# With the given name, not the target of the link.
ln -s "$plugins/probe_good.so" "$folder/link.so"
run 0 manifest "$folder/link.so"
json '.plugin.library_path == "link.so"'

run 1 manifest "$folder/none.so"
err_has "not_found"
out_empty
run 1 manifest "$plugins/probe_no_symbol.so"
err_has "symbol: "
run 1 manifest "$plugins/probe_bad_magic.so"
err_has "abi: "
run 1 manifest "$plugins/probe_undefined.so"
err_has "dlopen: "
run 1 manifest -o "$folder/none/m.json" "$plugins/probe_good.so"
err_has "No such file"
if [ -w /dev/full ]; then
    ln -s /dev/full "$folder/full.json"
    run 1 manifest -o "$folder/full.json" "$plugins/probe_good.so"
    err_has "No space left"
    [ -L "$folder/full.json" ] || fail "$ran: removes a device"
fi
# A file that could not be written completely is removed.
ran="talaria manifest, with a limit on files"
(
    trap '' XFSZ
    ulimit -f 0
    "$TALARIA" manifest -o "$folder/part.json" "$plugins/probe_good.so"
) 2>&1 | cat >"$err"
err_has "File too large"
[ ! -e "$folder/part.json" ] || fail "$ran: leaves a file"
run 1 manifest -o "$folder/bad.json" "$plugins/probe_bad_magic.so"
[ ! -e "$folder/bad.json" ] || fail "$ran: leaves a file"
finish
