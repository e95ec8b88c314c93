#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# talaria settings: values with their sources, invalid and unknown ones.
. "$(dirname "$0")/lib.sh"

# Variables of the tests are no settings.
plugins=$TALARIA_TEST_PLUGINS
unset TALARIA_TEST_PLUGINS TALARIA_VERSION
TALARIA_TEST_PLUGINS=$plugins
copy settings room
export TALARIA_PLUGIN_FILES="$folder/room.so"

# setting NAME FILTER: true of the setting or variable of that name.
setting() {
    json "[.settings[] | select(.key == \"$1\" or .variable == \"$1\")] |
        length == 1 and (.[0] | $2)"
}

run 0 settings
err_empty
out_has "probe.room"
out_has "TALARIA_PLUGIN_PATH"
out_lacks "Not settings"
run 0 settings --json
err_empty
json '.unknown == [] and .not_read == [] and .privileged == false'
setting probe.room '.owner == "probe" and .source == "default" and .valid and
    .variable == "TALARIA_PROBE_ROOM" and .value == .default and
    (.text | length > 0) and (.range | length > 0)'
setting hg.overflow_max '.owner == "core" and .kind == "bytes" and
    .default == "256M"'
setting TALARIA_PLUGIN_FILES '.source == "environment" and .key == null and
    .value == "'"$folder/room.so"'"'

# An empty value counts as unset, as in the core.
export TALARIA_HG_OVERFLOW_MAX=1M TALARIA_HG_OVERFLOW_TOTAL=
run 0 settings --json hg
json '[.settings[].key] == ["hg.ack_timeout_ms", "hg.overflow_max",
    "hg.overflow_total"]'
setting hg.overflow_max '.source == "environment" and .value == "1M" and
    .default == "256M"'
setting hg.overflow_total '.source == "default" and .value == "1G"'

# Values that the core refuses are invalid here, too.
export TALARIA_HG_OVERFLOW_MAX=1X
run 1 settings --json
setting hg.overflow_max '.valid == false and .value == "1X"'
run 1 settings hg.overflow_max
out_has INVALID
unset TALARIA_HG_OVERFLOW_MAX TALARIA_HG_OVERFLOW_TOTAL

# The core accepts exactly the listed levels of the log.
run 0 settings --json HG_LOG_LEVEL
jq -r '.settings[0].range' "$out" | tr -d ' ' | tr ',' '\n' >"$folder/levels"
[ "$(wc -l <"$folder/levels")" -ge 5 ] || fail "$ran: no levels"
while read -r level; do
    HG_LOG_LEVEL=$level
    export HG_LOG_LEVEL
    run 0 settings --json HG_LOG_LEVEL
    setting HG_LOG_LEVEL '.valid and .value == "'"$level"'"'
    ! grep -q "HG_LOG_LEVEL is" "$err" || fail "$ran: the core refuses $level"
done <"$folder/levels"
export HG_LOG_LEVEL=loud
run 1 settings --json HG_LOG_LEVEL
setting HG_LOG_LEVEL '.valid == false'
"$TALARIA" info >/dev/null 2>"$err"
err_has 'HG_LOG_LEVEL is "loud"'
unset HG_LOG_LEVEL

# A boolean variable.
for value in 0 1 no yes off on false true; do
    export TALARIA_PUBLISH=$value
    run 0 settings --json TALARIA_PUBLISH
    setting TALARIA_PUBLISH '.kind == "boolean" and .value == "'$value'" and
        (.range | split("[,;] "; "") | index("'$value'") != null)'
done
export TALARIA_PUBLISH=maybe
run 1 settings TALARIA_PUBLISH
out_has INVALID
run 1 ping probe+alpha://nobody
err_has 'TALARIA_PUBLISH is "maybe", expected 0, no,'
unset TALARIA_PUBLISH

# Names of all kinds.
for name in probe alpha probe+alpha probe+alpha://host:1 probe.room \
    TALARIA_PROBE_ROOM; do
    run 0 settings --json "$name"
    setting probe.room true
    json 'all(.settings[]; .owner == "probe")'
done
run 0 settings --json core
json '(.settings | length >= 7) and all(.settings[]; .owner == "core")'
run 0 settings --json core probe.room
json '[.settings[] | select(.owner == "probe")] | length == 1'
run 1 settings probe.romo
err_has 'no setting or plugin "probe.romo": did you mean probe.room?'
out_empty
run 1 settings xxxxxxxxxxxxxxx
err_has 'no setting or plugin "xxxxxxxxxxxxxxx"'

# Misspelled variables: the prefix, the plugin, the setting, and Mercury's.
export TALARIA_RPOBE_CHOICE=1K TALARAI_PROBE_ROOM=1K \
    TALARIA_HG_OVERFLOW_MAXIMUM=1 HG_LOG_LEVLE=debug NA_PLUGIN_PATH=/x \
    TALARIA_QQQQQQQQQQQQQQQQQQQQQQQ=1
run 0 settings
out_has "Not settings:"
out_has "TALARIA_RPOBE_CHOICE: did you mean TALARIA_PROBE_ROOM?"
run 0 settings --json
json '[.unknown[] | {(.variable): .nearest}] | add ==
    {"TALARIA_RPOBE_CHOICE": "TALARIA_PROBE_ROOM",
     "TALARAI_PROBE_ROOM": "TALARIA_PROBE_ROOM",
     "TALARIA_HG_OVERFLOW_MAXIMUM": "TALARIA_HG_OVERFLOW_MAX",
     "HG_LOG_LEVLE": "HG_LOG_LEVEL",
     "NA_PLUGIN_PATH": "TALARIA_PLUGIN_PATH",
     "TALARIA_QQQQQQQQQQQQQQQQQQQQQQQ": null}'
unset TALARIA_RPOBE_CHOICE TALARAI_PROBE_ROOM TALARIA_HG_OVERFLOW_MAXIMUM \
    HG_LOG_LEVLE NA_PLUGIN_PATH TALARIA_QQQQQQQQQQQQQQQQQQQQQQQ

# A plugin that does not load.
copy other other
echo "not an object" >"$folder/other.so"
unset TALARIA_PLUGIN_FILES
export TALARIA_PLUGIN_PATH="$folder"
run 1 settings
out_has "Not read:"
out_has "$folder/other.so"
run 1 settings --json
json '.not_read[] | select(.path == "'"$folder/other.so"'") |
    .plugin == "other" and (.text | length > 0)'
setting probe.room true
# It is not loaded if another one is named.
run 0 settings probe.room

finish
