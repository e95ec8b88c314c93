#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# talaria doctor: each check fails for a real cause, and not without it.
#
#   test_doctor.sh BUILD_ROOT
. "$(dirname "$0")/lib.sh"

# Variables of the tests are no settings.
plugins=$TALARIA_TEST_PLUGINS
unset TALARIA_TEST_PLUGINS
TALARIA_TEST_PLUGINS=$plugins
export TALARIA_PLUGIN_PATH="$1/plugins/sm"
export TALARIA_SM_MEMBARRIER=yes

# checked NAME RESULT TEXT [ADVICE]: a check of that name has the result; its text
# and advice contain these.
checked() {
    jq -e --arg name "$1" --arg result "$2" --arg text "$3" \
        --arg advice "${4-}" '.checks | any(.check == $name and
        .result == $result and (.text | contains($text)) and
        ((.advice // "") | contains($advice)))' "$out" >/dev/null ||
        fail "$ran: $1 is not $2 with \"$3\", \"${4-}\""
}

run 0 doctor na+sm --json
checked version ok libtalaria
checked "shared memory" ok memfd
checked environment ok "settings are set"
checked plugin ok libna_sm.so
checked na+sm ok "opens, plugin"
checked na+sm ok "device sm"
checked na+sm ok "round trip in"
json '[.checks[] | select(.result == "failed")] == []'
run 0 doctor na+sm
out_has "ok       na+sm: round trip in"
[ "$(grep -cvE '^(ok     |warning|failed )  [^ ]' "$out")" -eq 0 ] ||
    fail "$ran: a line that is no check"

# With all installed plugins, and addresses of devices.
for plugin in ofi ucx; do
    [ -f "$1/plugins/$plugin/libna_$plugin.so" ] || continue
    TALARIA_PLUGIN_PATH=$1/plugins/$plugin
    run 0 doctor --json "$plugin+tcp"
    checked "$plugin+tcp" ok "device lo, addresses 127.0.0.1"
    checked "$plugin+tcp" ok "round trip in"
    jq -e --arg name "$plugin+tcp" 'any(.checks[]; .check == $name and
        (.text | test("plugin [0-9.]+, (libfabric|UCX) [0-9]")))' "$out" \
        >/dev/null || fail "$ran: no version of the library"
    run 0 info --json "$plugin+tcp"
    json 'any(.devices[]; .device == "lo" and
        (.addresses | index("127.0.0.1") != null))'
done
TALARIA_PLUGIN_PATH=$1/plugins/sm

# Limits.
# limited OPTION VALUE CODE: runs doctor with a limit of the shell.
limited() {
    ran="talaria doctor, with ulimit $1 $2"
    (
        ulimit "$1" "$2" || exit 99
        shift 3
        exec "$@" "$TALARIA" doctor --json na+sm
    ) >"$out" 2>"$err"
    code=$?
    [ "$code" -eq "$3" ] || fail "$ran: exit code $code, not $3"
}
limited -Sn 20 1
checked descriptors failed "at most 20" "type: ulimit -n"
limited -n 20 1
checked descriptors failed "at most 20" limits.conf
limited -n 500 0
checked descriptors warning "at most 500"
# The limit is in blocks of 512 bytes, or in KiB.
limited -f 1024 1
checked "shared memory" failed "may have" "ulimit -f unlimited"
if [ "$(id -u)" -ne 0 ]; then
    limited -l 0 0
    checked "locked memory" warning "at most 0 KiB" "ulimit -l unlimited"
elif command -v setpriv >/dev/null; then
    limited -l 0 0 setpriv --bounding-set -ipc_lock
    jq -e '.checks[] | select(.check == "locked memory") |
        .result != "ok" and (.text | contains("at most 0 KiB")) and
        (.advice | contains("ulimit -l unlimited"))' "$out" >/dev/null ||
        fail "$ran: locked memory is ok"
    limited -l 0 0
    checked "locked memory" ok CAP_IPC_LOCK
fi

# The environment.
export TALARIA_MS_RING_SIZE=64K
run 0 doctor --json na+sm
checked environment warning "TALARIA_MS_RING_SIZE is no setting" \
    "did you mean TALARIA_SM_RING_SIZE?"
unset TALARIA_MS_RING_SIZE
export TALARIA_SM_RING_SIZE=64Q
run 1 doctor --json na+sm
checked environment failed 'TALARIA_SM_RING_SIZE is "64Q"' \
    "unset TALARIA_SM_RING_SIZE"
checked na+sm failed "sm.ring_size"
unset TALARIA_SM_RING_SIZE

# Plugins.
copy good good
TALARIA_PLUGIN_PATH=$folder
rm "$folder/good.so"
run 1 doctor --json probe+alpha
checked plugin failed good "install"
cp "$plugins/probe_other_major.so" "$folder/good.so"
run 1 doctor --json probe+alpha
checked plugin failed good.so install
cp "$plugins/probe_undefined.so" "$folder/good.so"
run 1 doctor --json probe+alpha
checked plugin failed probe_nobody_defines
rm "$folder/good.so" "$folder/good.json"
run 1 doctor --json probe+alpha
checked probe+alpha failed NA_ "talaria info"
TALARIA_PLUGIN_PATH=$1/plugins/sm

# Addresses.
run 1 doctor na+sm --json --to na+sm://nobody-here
checked na+sm://nobody-here failed "no round trip" "server"
run 1 doctor na+sm --json --to nothing
checked nothing failed "address: invalid" "give the address"
for plugin in ofi ucx; do
    [ -f "$1/plugins/$plugin/libna_$plugin.so" ] || continue
    TALARIA_PLUGIN_PATH=$1/plugins/sm:$1/plugins/$plugin
    # Nobody listens at port 1.
    run 1 doctor na+sm --json --to "$plugin+tcp://127.0.0.1:1"
    checked "$plugin+tcp://127.0.0.1:1" failed "connection: " "server runs"
done
run 2 doctor a b
err_has "one INFO at a time"
run 2 doctor --timeout 0
err_has "is not a number"
finish
