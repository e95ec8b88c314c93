#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# talaria perf: every test at every level, alone and against a separate server,
# with all options; errors have a message and the right exit code.
#
#   test_perf.sh BUILD_DIR
# shellcheck disable=SC2154 # folder, out, err
. "$(dirname "$0")/lib.sh"
export TALARIA_PLUGIN_PATH="${1:?usage: $0 BUILD_DIR}/plugins/sm"
# Findings of a sanitizer have another exit code than expected failures.
export ASAN_OPTIONS="exitcode=99${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="halt_on_error=1:exitcode=99"
info=na+sm://perf-$$
server=
brief='--rounds 1 --warm-up 10 --operations 200'

# Kills children that a failure has left.
trap 'kill -9 $server 2>/dev/null; rm -rf "$folder"' EXIT

# until_true SECONDS COMMAND...: the command succeeds in that time.
until_true() {
    tries=$(($1 * 20))
    shift
    while ! "$@"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.05
    done
}

# serve OPTION...: starts a server; sets server and address.
serve() {
    : >"$folder/address"
    "$TALARIA" perf serve "$@" "$info" >"$folder/address" 2>"$folder/server" &
    server=$!
    until_true 10 test -s "$folder/address" || fail "serve $*: no address"
    address=$(cat "$folder/address")
}

# server_ends CODE: soon, without a message.
server_ends() {
    until_true 10 has_ended "$server" || fail "the server does not end"
    wait "$server"
    code=$?
    [ "$code" -eq "$1" ] || fail "the server ended with $code, not $1"
    server=
}

has_ended() {
    ! kill -0 "$1" 2>/dev/null ||
        grep -qs '^State:.Z' "/proc/$1/status"
}

# All numbers of the points are plausible.
sound() {
    json '.points | length > 0'
    json '[.points[].rounds[]] | all(.operations > 0 and .elapsed_ns > 0 and
        .origin_cpu_ns > 0 and .target_cpu_ns > 0 and
        (.operation_quantiles | .p50_ns > 0 and .p50_ns <= .p90_ns and
            .p90_ns <= .p99_ns and .p99_ns <= .p99_9_ns and
            .p99_9_ns <= .max_ns))'
    json '[.points[] | (.rounds[].value_ns // .rounds[].value_ops_per_s //
        .rounds[].value_bytes_per_s)] | all(. > 0)'
}

# measure ARGUMENT...: prints JSON, which is valid.
measure() {
    # shellcheck disable=SC2086
    run 0 perf "$@" $brief --json
    sound
}

# Each test at each level, with its own server.
for level in na rpc bulk; do
    for test in lat rate bw; do
        measure "$test" --level "$level" --local na+sm --size 8,1000 --verify
        json ".settings | .level == \"$level\" and .verify and .local and
            .info == \"na+sm\" and .rounds == 1 and .round_operations == 200 and
            .warm_up_operations == 10"
        json '[.points[].size_bytes] | unique == [8, 1000]'
        json '[.points[].rounds[].operations] | all(. == 200)'
    done
    json '[.points[].test] == ["bw_read", "bw_read", "bw_write", "bw_write"]'
done

# Options. Lengths that are no multiple of a word, in both modes.
measure rate --local na+sm --busy --single-thread --verify --size 0,1,7,4001 \
    --inflight 3
json '.settings | .busy and .single_thread and .in_flight == 3'
measure rate --local na+sm --threads 2 --clients 2 --verify
json '.settings | .threads == 2 and .contexts == 1 and .clients == 2'
measure lat --local na+sm --contexts 2 --classes 2 --clients 2 --busy
json '.settings | .threads == 2 and .contexts == 2 and .classes == 2'
measure bw --level na --local na+sm --threads 3 --contexts 2 --size 64K \
    --verify --write
json '[.points[].test] == ["bw_write"]'
for segments in 2 7 1024; do
    measure bw --local na+sm --segments $segments --size 4001 --verify
    json ".settings.segments == $segments"
done
for level in na bulk; do
    measure bw --local na+sm --level $level --size 7,64K --verify --mem-alloc
    json '.settings.mem_alloc and .format == "1.3"'
done
measure bw --local na+sm --classes 2 --size 3:12 --read --label Name
json '[.points[].size_bytes] == [3, 6, 12] and .settings.label == "Name"'
measure lat --local na+sm --pin 0,0
json '.settings | .origin_processor == 0 and .target_processor == 0'

# Callers beside a progress thread; the server's threads respond.
for test in lat rate; do
    measure "$test" --local na+sm --progress-thread --threads 3 --verify
    json '.settings | .progress_thread and .threads == 3 and .contexts == 1'
    json '[.points[].rounds[].operations] | all(. == 200)'
done
measure rate --local na+sm --progress-thread --threads 3 --contexts 2 \
    --classes 2 --clients 2 --inflight 5 --size 0,4001 --verify
measure lat --local na+sm --progress-thread --busy
measure lat --local na+sm
json '.settings.progress_thread == false'
# shellcheck disable=SC2086
run 0 perf lat --local na+sm --progress-thread $brief
out_has "waiting, beside a progress thread"

# Limited by time; the other forms.
run 0 perf lat --local na+sm --duration 0.05 --rounds 2 --warm-up 0 --json
sound
json '.points[0].rounds | length == 2 and all(.elapsed_ns >= 40000000)'
json '.settings | .round_duration_ns == 50000000 and .round_operations == 0'
# shellcheck disable=SC2086
run 0 perf lat --local na+sm $brief
out_has "64 B"
err_empty
# shellcheck disable=SC2086
run 0 perf rate --local na+sm $brief --csv
out_has "rate"
err_empty

# Server and client as two commands; one client after the other, and at once.
serve
grep -qx 'na+sm://[^ ]*' "$folder/address" || fail "the address: $address"
for level in na rpc bulk; do
    measure rate --level "$level" "$address" --verify
    json ".settings | .info == \"$address\" and (.local | not) and
        (.busy | not)"
done
# shellcheck disable=SC2086
"$TALARIA" perf bw "$address" --size 64K $brief >"$folder/other" 2>&1 &
other=$!
measure lat "$address" --clients 2
wait "$other" || fail "two at once: $(cat "$folder/other")"
# The client uses the options of the server.
measure lat "$address" --busy
json '.settings.busy | not'
err_has "the server waits"
kill -TERM "$server"
server_ends 0
serve --once=2
measure lat "$address" --in-process
until_true 1 has_ended "$server" && fail "the server ends after one client of two"
measure rate "$address" --in-process --contexts 2 --level na
server_ends 0
serve --busy --single-thread --pin 0 --once
measure lat "$address" --level na
json '.settings | .busy and .single_thread and .target_processor == 0'
server_ends 0

# Bytes flipped at one side are detected at the other. Not with a sanitizer, which
# has to be the first preloaded library.
sanitized() { ldd "$TALARIA" | grep -qE 'lib[at]san|libclang_rt'; }
if sanitized; then
    echo "not tried: wrong bytes, under a sanitizer"
else
    # wrong SIDE TEST ARGUMENT...: SIDE flips bytes, so TEST fails.
    wrong() {
        side=$1
        shift
        if [ "$side" = server ]; then
            LD_PRELOAD=$PERF_FLIP serve
        else
            serve
        fi
        [ "$side" = server ] || export LD_PRELOAD="$PERF_FLIP"
        # shellcheck disable=SC2086
        run 1 perf "$@" "$address" --verify --size 500 $brief
        unset LD_PRELOAD
        out_empty
        err_has "verification: "
        grep -q "verification: .*byte 345\\b" "$err" || fail "$ran: not byte 345"
        kill "$server"
        server_ends 0
    }
    for side in client server; do
        wrong "$side" lat
        wrong "$side" lat --progress-thread --threads 2
        wrong "$side" lat --level na
    done
    wrong client bw --level na --write
    wrong server bw --level rpc --write
    wrong server bw --level bulk --read
fi

serving() {
    threads=$(find "/proc/$server/task" -mindepth 1 -maxdepth 1 | wc -l)
    [ "$threads" -gt 1 ]
}

# A server that dies during a measurement is detected soon, at each level, and by
# callers beside a progress thread.
for level in na rpc bulk 'rpc --progress-thread --threads 2'; do
    serve
    # shellcheck disable=SC2086 # several words
    "$TALARIA" perf rate --level $level "$address" --duration 60 \
        >"$out" 2>"$err" &
    client=$!
    ran="perf rate --level $level, server killed"
    # The server has threads of a session: measuring has begun or is about to.
    until_true 10 serving || fail "$ran: did not begin"
    kill -9 "$server"
    until_true 20 has_ended "$client" || fail "$ran: does not end"
    wait "$client"
    code=$?
    [ "$code" -eq 1 ] || fail "$ran: exit code $code, not 1"
    err_has "talaria perf rate: the server is"
    wait "$server" 2>/dev/null
    server=
done

# An interrupted client ends its own server.
"$TALARIA" perf lat --local "$info-i" --duration 60 >"$out" 2>"$err" &
client=$!
ran="perf lat, interrupted"
children() { [ "$(wc -w <"/proc/$client/task/$client/children")" -ge 3 ]; }
until_true 10 children || fail "$ran: no children"
left=$(cat "/proc/$client/task/$client/children")
kill -TERM "$client"
until_true 20 has_ended "$client" || fail "$ran: does not end"
wait "$client"
code=$?
[ "$code" -eq 1 ] || fail "$ran: exit code $code, not 1"
for child in $left; do
    until_true 5 has_ended "$child" || fail "$ran: leaves process $child"
done

# Errors.
run 2 perf
run 2 perf nothing
err_has "no action \"nothing\""
run 2 perf lat
err_has "ADDRESS is missing"
run 2 perf lat --local na+sm na+sm://1-0
run 2 perf lat --local na+sm --level hg
run 2 perf lat --local na+sm --in-process
run 2 perf lat na+sm://1-0 --in-process --clients 2
err_has "--in-process needs ADDRESS"
run 2 perf lat --local na+sm --size 12Q
run 2 perf lat --local na+sm --size 0 --level na
run 2 perf lat --local na+sm --inflight 0
run 2 perf lat --local na+sm --mem-alloc
err_has "memory allocated by Talaria is for bw of levels na and bulk"
run 2 perf bw --local na+sm --mem-alloc --segments 2
err_has "--mem-alloc is for one segment"
run 2 perf lat --local na+sm --segments 2
err_has "--segments is for level bulk"
run 2 perf bw --local na+sm --segments 1025
run 2 perf bw --local na+sm --segments 65 --size 1M,64
err_has "fewer bytes than --segments"
run 2 perf bw --local na+sm --segments 2 --callgrind
run 2 perf lat --local na+sm --contexts 2 --threads 1
run 2 perf lat --local na+sm --single-thread --threads 2
run 2 perf lat --local na+sm --progress-thread --level na
err_has "progress thread is for lat and rate of level rpc"
run 2 perf bw --local na+sm --progress-thread --level rpc
run 2 perf lat --local na+sm --progress-thread --single-thread
run 2 perf lat --local na+sm --progress-thread --callgrind
run 2 perf lat --local na+sm --rounds -1
run 2 perf lat --local na+sm --duration nan
run 2 perf lat --local na+sm --duration 3600.1
run 2 perf lat --local na+sm --pin 1024
run 2 perf lat --local na+sm --pin 0,1024
run 2 perf serve na+sm --pin 1024
run 2 perf serve na+sm --idle 0
run 2 perf serve na+sm --idle 86401
run 2 perf lat --local na+sm --duration 1 --operations 5
run 2 perf lat --local na+sm --read
run 2 perf lat --callgrind na+sm://1-0
run 2 perf bw --local na+sm --size 1G --inflight 64
run 2 perf serve
run 1 perf lat nowhere
err_has "not an address"
run 1 perf lat na+sm://nobody-is-there
err_has "the server is not reachable"
run 1 perf lat --local na+nothing
err_has "na+nothing"
run 1 perf serve na+nothing
run 1 perf lat --local na+sm --pin 1000,0
err_has "processor 1000"
# Payloads larger than a message are fetched.
# shellcheck disable=SC2086 # several words
run 0 perf lat --level rpc --local na+sm --size 8,100K $brief
out_has "100 KiB"
run 1 perf lat --level na --local na+sm --size 8,100K
err_has "too many for a message"
out_empty

# Instructions, where they can be counted.
if sanitized || ! command -v valgrind >/dev/null; then
    echo "not tried: --callgrind, without valgrind or under a sanitizer"
else
    # shellcheck disable=SC2086
    run 0 perf lat --local na+sm --callgrind $brief --json
    json '.points[0].instructions_per_operation | . > 500 and . < 100000'
fi

for word in lat rate bw serve; do
    run 0 perf $word --help
    out_has "Exit status: 0"
done
run 0 perf --help
for word in lat rate bw serve compare plot; do out_has "  $word "; done
finish
