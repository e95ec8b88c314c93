#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# TALARIA_TRACE: the trace of a server and a client in one file and in two, and
# files that are not overwritten.
#
#   test_trace.sh BUILD_ROOT INFO
. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
plugin=${2%+*}
[ "$plugin" != na ] || plugin=sm
export TALARIA_PLUGIN_PATH=$1/plugins/$plugin
trap '[ -z "${server:-}" ] || kill -9 $server 2>/dev/null; rm -rf "$folder"' EXIT

address=$2
[ "$plugin" = sm ] || address=$2://127.0.0.1

# A server of root requires a token over TCP.
token=()
if [ "$plugin" != sm ] && [ "$(id -u)" -eq 0 ]; then
    if ! ldd "$TALARIA" | grep -q libsodium; then
        echo 'skipped: a server of root needs libsodium'
        exit 77
    fi
    (umask 077 && head -c 32 /dev/urandom >"$folder/token")
    token=(--token-file "$folder/token")
fi

# serve TRACE: starts a server.
serve() {
    rm -f "$folder/address"
    TALARIA_TRACE=$1 "$TALARIA" copy serve --address-file "$folder/address" \
        "${token[@]}" "$address" "$folder" >"$folder/log" 2>&1 &
    server=$!
    for _ in $(seq 600); do
        [ ! -s "$folder/address" ] || return 0
        sleep 0.1
    done
    cat "$folder/log"
    fail 'no server'
}

stop() {
    kill "$server"
    wait "$server" 2>/dev/null
    server=
}

# One file, two clients at once. The server is the last to write it.
trace=$folder/trace.json
serve "$trace"
TALARIA_TRACE=$trace "$TALARIA" ping --count 20 "$(cat "$folder/address")" \
    >"$folder/other" 2>&1 &
other=$!
TALARIA_TRACE=$trace run 0 ping --count 20 "$(cat "$folder/address")"
wait "$other" || fail "$ran: the other client: $(cat "$folder/other")"
stop
ran="trace over $2"
python3 "$here/watch.py" trace "$trace" >"$out" 2>"$err" || fail "$ran"
out_has 'processes=3 arrows=80 joined=80 across=80 handlers=40'
[ "$(stat -c %a "$trace")" = 600 ] || fail "$ran: others may read it"

# A file of an earlier trace is replaced; others are not.
serve "$trace"
stop
python3 "$here/watch.py" trace "$trace" >"$out" 2>"$err" || fail "$ran: again"
out_has 'processes=0 arrows=0'
echo precious >"$folder/precious"
serve "$folder/precious"
stop
cp "$folder/log" "$out"
out_has 'TALARIA_TRACE: no trace is written'
out_has 'it exists and is no trace'
[ "$(cat "$folder/precious")" = precious ] || fail "a file was overwritten"
mkfifo "$folder/fifo"
serve "$folder/fifo"
stop
cp "$folder/log" "$out"
out_has 'it is no regular file'

# Nor is one appended to, whoever holds a lock of it, another name followed, or a
# file written that has one.
(flock -s 9 && sleep 60) 9>>"$folder/precious" &
locker=$!
serve "$folder/precious"
stop
kill "$locker"
[ "$(cat "$folder/precious")" = precious ] || fail "a locked file was written"
ln -s precious "$folder/link"
serve "$folder/link"
stop
cp "$folder/log" "$out"
out_has 'symbolic links'
ln "$trace" "$folder/second"
serve "$trace"
stop
cp "$folder/log" "$out"
out_has 'it has another name, too'
rm "$folder/second"

# A limit of the size of files ends the trace, and not the process.
# na+sm needs files of up to 4 MiB itself.
(ulimit -f 8192; TALARIA_TRACE=$folder/limited.json "$TALARIA" perf rate --local \
    na+sm --rounds 1 --operations 30000 --warm-up 1 >"$out" 2>"$err") ||
    [ "$plugin" != sm ] || fail 'a limit of the size ends the process'
[ "$plugin" != sm ] || err_has 'TALARIA_TRACE: the trace ends here: File too large'

# A file for each process.
serve "$folder/%p%%.json"
TALARIA_TRACE=$folder/%p%%.json run 0 ping --count 5 "$(cat "$folder/address")"
first=$folder/$server%.json
stop
[ -s "$first" ] || fail "no file with the id of the process"
for file in "$folder"/[0-9]*%.json; do
    python3 "$here/watch.py" trace "$file" >"$out" 2>"$err" || fail "$file"
done

# The events before the process was killed are in the file.
serve "$trace"
"$TALARIA" ping --count 5 "$(cat "$folder/address")" >/dev/null
sleep 1
kill -9 "$server"
wait "$server" 2>/dev/null
server=
ran='trace of a killed process'
[ "$(grep -c '"name":"handler"' "$trace")" -eq 5 ] || fail "$ran: not 5 handlers"
(cat "$trace"; echo ']') >"$folder/ended.json"
python3 "$here/watch.py" trace "$folder/ended.json" >"$out" 2>"$err" || fail "$ran"
finish
