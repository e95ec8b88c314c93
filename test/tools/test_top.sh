#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# talaria top and talaria export, as a user types them: the published numbers
# for a known number of calls, invalid pages, and killed processes.
#
#   test_top.sh BUILD_ROOT
. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
export TALARIA_PLUGIN_PATH=$1/plugins/sm
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null; rm -rf "$folder"' EXIT

# wait_for FILE: waits until it has a line.
wait_for() {
    for _ in $(seq 600); do
        [ ! -s "$1" ] || return 0
        sleep 0.1
    done
    fail "nothing in $1"
    return 1
}

# Invalid arguments.
run 2 top here
run 2 top --interval 0
err_has "'0' is not a number of seconds from 0.2 to 5"
run 2 top --interval nan
run 2 top --pid 0
err_has "'0' is not the id of a process"
run 2 export --port 65536
err_has "'65536' is not a number from 0 to 65535"
run 2 export here
run 1 top --pid $$
err_has "process $$ does not publish"
run 1 top --json --pid $$

# A server that publishes, and one whose variable is off.
TALARIA_PUBLISH=1 "$TALARIA" copy serve --address-file "$folder/address" \
    na+sm "$folder" >"$folder/log" 2>&1 &
server=$!
TALARIA_PUBLISH=off "$TALARIA" copy serve --address-file "$folder/other" \
    na+sm "$folder" >"$folder/log2" 2>&1 &
silent=$!
pids+=("$server" "$silent")
wait_for "$folder/address"
wait_for "$folder/other"
run 1 top --once --pid "$silent"
[ ! -s "$folder/log2" ] || [ -z "$(grep -i publish "$folder/log2")" ] ||
    fail "TALARIA_PUBLISH=off is not off"
[ "$(stat -Lc %a /proc/$server/fd/* 2>/dev/null | grep -cx 600)" -ge 1 ] ||
    fail "the page is not private"

# A libmicrohttpd that cannot be loaded.
mkdir "$folder/lib"
: >"$folder/lib/libmicrohttpd.so.12"
LD_LIBRARY_PATH=$folder/lib:${LD_LIBRARY_PATH-} run 1 export --port 0
err_has "only --once works without libmicrohttpd: "

# The exporter runs during a known number of calls.
"$TALARIA" export --port 0 >"$folder/url" 2>"$folder/export_log" &
exporter=$!
pids+=("$exporter")
wait_for "$folder/url"
url=$(cat "$folder/url")
# The server has been found once it has published.
for _ in $(seq 100); do
    python3 "$here/watch.py" get "$url" >"$folder/metrics"
    [ "$(python3 "$here/watch.py" metric "$folder/metrics" \
        talaria_watched_seconds_total "pid=$server")" -lt 1 ] || break
    sleep 0.1
done
run 0 ping --count 200 "$(cat "$folder/address")"
sleep 0.5
python3 "$here/watch.py" get "$url" >"$folder/metrics"
cp "$folder/metrics" "$out"
ran="GET $url"
[ "$(head -n 1 "$folder/metrics")" = 200 ] || fail "no status 200"
sed -i 1d "$folder/metrics"
python3 "$here/watch.py" format "$folder/metrics" 2>"$err" || fail "$ran: format"
value() { python3 "$here/watch.py" metric "$folder/metrics" "$@"; }
for name in requests_total responses_total latency_seconds_count; do
    [ "$(value "talaria_$name" "pid=$server" side=target rpc=talaria.ping)" -eq 200 ] ||
        fail "$ran: $name is not 200"
done
[ "$(value talaria_transport_requests_total "pid=$server" transport=na+sm)" \
    -eq 200 ] || fail "$ran: not 200 requests over na+sm"
[ "$(value talaria_failures_total "pid=$server")" -eq 0 ] || fail "$ran: failures"
python3 "$here/watch.py" get "${url%metrics}" >"$out"
ran="GET ${url%metrics}"
[ "$(cat "$out")" = 404 ] || fail "$ran: not 404"
python3 "$here/watch.py" get "$url" example.invalid >"$out"
[ "$(cat "$out")" = 403 ] || fail "$ran: another host is served"
python3 "$here/watch.py" get "$url" localhost POST >"$out"
[ "$(cat "$out")" = 405 ] || fail "$ran: POST is served"
port=${url#http://127.0.0.1:}
run 1 export --port "${port%/metrics}"
err_has "port ${port%/metrics} of 127.0.0.1: Address already in use"

# The same in the JSON and the text of top.
run 0 top --json --pid "$server" --interval 0.3
json '.processes | length == 1'
json ".processes[0] | .pid == $server and .command == \"talaria\" and .published"
json '.processes[0].rpcs[] | select(.name == "talaria.ping") |
    .side == "target" and .requests == 200 and .answers == 200 and .rate == 0 and
    .failures.other == 0'
json '.processes[0].transports[0] | .name == "na+sm" and .requests == 200'
json '.processes[0].peers | map(.requests) | add == 200'
json '.processes[0].counted_share == 1'
run 0 top --once --pid "$server" --interval 0.3
out_has "$server talaria: 0 RPC/s"
out_has talaria.ping
out_has 'na+sm '
out_has 'peers without traffic'
! grep -q "$(printf '\033')" "$out" || fail "$ran: escape sequences"
run 0 top --pid "$server" --interval 0.3
out_has "$server talaria"
run 0 export --once
out_has "talaria_requests_total{pid=\"$server\",command=\"talaria\""

# A terminal: until q.
if command -v script >/dev/null; then
    ran='talaria top in a terminal'
    (sleep 2; printf q) | TERM=xterm timeout 60 script -qefc \
        "'$TALARIA' top --pid $server --interval 0.2" "$folder/screen" >"$out" ||
        fail "$ran: does not end by q"
    out_has 'q quits'
    out_has "$server talaria"
fi

kill "$exporter"
wait "$exporter" || fail "talaria export: not 0 after SIGTERM"

# Invalid pages. Their processes are left out, or have empty numbers.
export WATCH_PAGE_SIZE
WATCH_PAGE_SIZE=$(stat -Lc '%s %n' /proc/$server/fd/* 2>/dev/null |
    while read -r size name; do
        [[ $(readlink "$name") != /memfd:talaria-watch* ]] || echo "$size"
    done)
[ "$WATCH_PAGE_SIZE" -gt 100 ] || fail "the page has no size"
hostile=()
for kind in empty short unsealed ones sevens odd counts many; do
    python3 "$here/watch.py" page $kind >"$folder/$kind" 2>&1 &
    hostile+=("$!")
    pids+=("$!")
    wait_for "$folder/$kind"
done
run 0 top --json --interval 0.2
err_empty
json '.processes | length >= 1'
for at in 0 1 2; do
    json "[.processes[] | select(.pid == ${hostile[$at]})] | length == 0"
done
json "[.processes[] | select(.pid == ${hostile[5]})][0].published | not"
json "[.processes[] | select(.pid == ${hostile[7]})] | length == 1"
run 0 top --once --interval 0.2
run 0 export --once
python3 "$here/watch.py" format "$out" 2>"$err" || fail "$ran: format"
for pid in "${hostile[@]}"; do
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
done

# A killed process disappears, and nothing is left.
kill -9 "$server"
wait "$server" 2>/dev/null
run 1 top --once --pid "$server"
[ -z "$(find /dev/shm "${XDG_RUNTIME_DIR:-/dev/shm}" -name '*talaria-watch*' 2>/dev/null)" ] ||
    fail "files are left"
finish
