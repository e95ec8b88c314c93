#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# talaria info: the list of plugins, one that opens, one that fails to open.
. "$(dirname "$0")/lib.sh"

copy good good
copy other other
export TALARIA_PLUGIN_PATH="$folder"

# mine FILTER: true of the plugins in the folder, among those of the machine.
mine() { json "[.plugins[] | select(.source == \"env_path\")] | $1"; }

run 0 info
err_empty
out_has "NAME"
out_has "probe"
out_has "alpha beta"
out_has "$folder/other.so"
out_lacks "Refused"

run 0 info --json
err_empty
mine "length == 2"
mine ".[0] | .name == \"probe\" and .version == \"1.2.3\" and
    .protocols == [\"alpha\", \"beta\"] and .priority == 10 and
    .other_protocols == false and
    .abi == {\"major\": 1, \"minor\": 0, \"min_host_minor\": 0} and
    .library == \"$folder/good.so\" and .manifest == \"$folder/good.json\" and
    .state == \"usable\" and .stage == \"ok\" and .code == \"NA_SUCCESS\" and
    .text == \"\""
mine ".[1].name == \"other\""

# Nothing is loaded.
echo "not an object" >"$folder/other.so"
run 0 info -j
mine ".[1].state == \"usable\""

echo "{" >"$folder/broken.json"
cp "$folder/good.json" "$folder/shadow.json"
cp "$folder/good.json" "$folder/zopen.json"
chmod 666 "$folder/zopen.json"
run 0 info
out_has "Refused:"
out_has "manifest: line"
out_has "permission: "
out_has "shadowed"
run 0 info --json
mine ".[0] | .name == null and .protocols == [] and .state == \"refused\"
    and .stage == \"manifest\" and .code == \"NA_PROTOCOL_ERROR\""
mine "map(.state) ==
    [\"refused\", \"usable\", \"usable\", \"shadowed\", \"refused\"]"
mine ".[4].stage == \"permission\""
rm "$folder/broken.json" "$folder/shadow.json" "$folder/zopen.json"

export TALARIA_PLUGIN_FILES=/dev/null/none.so
run 0 info --json
json '.plugins | length == 1'
json '.plugins[0] | .source == "env_files" and .stage == "not_found"'
unset TALARIA_PLUGIN_FILES

# One that is opened.
run 0 info probe+alpha
err_empty
out_has "1.2.3"
out_has "$folder/good.so"
out_has "max_unexpected_size"
out_has "4096"
out_has "probe.choice"
out_has "blue"
out_has "Devices:"
out_has "probe+alpha  probe0"
run 0 info --json probe+alpha://eth0:0
err_empty
json '.info == "probe+alpha://eth0:0"'
json '.report[] | select(.name == "max_unexpected_size").value == 4096'
json '.report[] | select(.name == "probe.counter").value == 42'
json '.report[] | select(.name == "probe.choice").value == "blue"'
json '.devices == [{"plugin": "probe", "protocol": "alpha",
    "device": "probe0", "addresses": []}]'
run 0 info alpha
out_has "probe0"

# One that cannot be opened: the line of the log, then every candidate.
run 1 info prob+alpha
out_empty
err_has 'no plugin is named "prob"'
err_has "Candidates:"
err_has "probe  $folder/good.json"
run 1 info --json prob+alpha
json '.error.code == "NA_NOENTRY"'
json '.error.text | startswith("no plugin is named \"prob\"")'
json ".candidates[0] | .plugin == \"probe\" and .stage == \"not_found\" and
    .path == \"$folder/good.json\""
run 1 info --json other+beta
json '.candidates[-1] | .plugin == "other" and .stage == "dlopen" and
    .code == "NA_FAULT"'
run 1 info --json probe+gamma
json '.candidates[-1].stage == "protocol"'
run 1 info "probe+"
err_has "is not an info string"
run 1 info --json "probe+"
json '.error.code == "NA_INVALID_ARG"'
json '.candidates[-1].stage == "info_string"'
run 1 info --json probe+alpha://a:b
json '.error.code == "NA_INVALID_ARG"'
json '.candidates[-1].stage == "info_string"'

copy open_fails good
run 1 info probe+alpha
err_has "the probe has no device"
[ "$(grep -c '\[error\]' "$err")" -eq 1 ] || fail "$ran: not one line logged"
run 1 info --json probe+alpha
json '.error == {"code": "NA_NODEV", "text": "the probe has no device"}'
json '[.candidates[] | select(.plugin == "probe")] | length == 1'
json '.candidates[-1] | .stage == "open" and .code == "NA_NODEV"'

# Beside the core library, in any folder.
core=$(ldd "$TALARIA" | sed -n 's/.*libtalaria[^ ]* => \([^ ]*\) .*/\1/p')
mkdir -p "$folder/lib/talaria/plugins-1"
cp "$core" "$folder/lib/$(basename "$core")"
cp "$TALARIA" "$folder/talaria"
cp "$TALARIA_TEST_PLUGINS/probe_good.so" "$folder/lib/talaria/plugins-1/p.so"
"$TALARIA" manifest "$folder/lib/talaria/plugins-1/p.so" \
    -o "$folder/lib/talaria/plugins-1/p.json"
unset TALARIA_PLUGIN_PATH
TALARIA=$folder/talaria
LD_LIBRARY_PATH=$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
run 0 info --json
json '[.plugins[] | select(.source == "beside_core")] | length == 1'
run 0 info probe+alpha
out_has "$folder/lib/talaria/plugins-1/p.so"
finish
