#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# talaria perf --against: other benchmarks beside talaria perf, also failing ones,
# which leave nothing behind.
#
#   test_perf_against.sh BUILD_DIR
. "$(dirname "$0")/lib.sh"
export TALARIA_PLUGIN_PATH="${1:?usage: $0 BUILD_DIR}/plugins/sm"

for name in fi_pingpong ucx_perftest; do
    command -v "$name" >/dev/null || { echo "skipped: no $name"; exit 77; }
done
TMPDIR=$folder/tmp
export TMPDIR
mkdir "$TMPDIR"
# A program linked with MPI needs an option to run without it.
perftest=ucx_perftest
! ucx_perftest -h 2>&1 | grep -q -e '-P <0|1>' || perftest='ucx_perftest -P 0'
pin=0
[ "$(nproc)" -lt 2 ] || pin=0,1

# No processes in our session and no files are left.
nothing_left() {
    # folders that Open MPI creates for each user, and leaves
    rm -rf "$TMPDIR"/ompi.*
    left=$(pgrep -s 0 -f 'fi_pingpong -I|ucx_perftest -|hg_perf_server')
    [ -z "$left" ] || fail "$ran: left behind: $left"
    rmdir "$TMPDIR" 2>/dev/null || fail "$ran: left behind: $(ls "$TMPDIR")"
    mkdir -p "$TMPDIR"
}

# against CODE COMMAND ARGUMENT...: our round trips against a peer's.
against() {
    wanted=$1
    peer=$2
    shift 2
    run "$wanted" perf lat --level rpc --local na+sm --size 64 --rounds 3 \
        --duration 0.05 --pin "$pin" --against "$peer" "$@"
    nothing_left
}

# Both values exist, and the ratios agree with them. Shared memory is not a hundred
# times slower than TCP.
ratios() {
    json '.points[0] | (.rounds | length) == 3 and
        (.rounds | all(.peer_value_ns > 50 and .value_ns > 50))'
    json '.points[0].summary | .peer_ratio > 0 and .peer_ratio_low95 == null
        and .peer_median_ns > 50'
    json '.points[0] | . as $point | .rounds |
        map(select(.slow | not)) | if length == 0 then true else
        map(.value_ns / .peer_value_ns) |
        (min <= $point.summary.peer_ratio + 1e-9 and
         max >= $point.summary.peer_ratio - 1e-9) end'
}

against 0 'fi_pingpong -e rdm -p tcp' --json
err_empty
ratios
json '.settings.against == "fi_pingpong -e rdm -p tcp"'
against 0 "$perftest -t ucp_am_lat" --json
err_empty
ratios
against 0 "UCX_TLS=tcp $perftest -t 'ucp_am_lat'"
err_empty
out_has "RATIO"
out_has "peer: UCX_TLS=tcp $perftest"
run 0 perf rate --local na+sm --rounds 2 --duration 0.05 --pin "$pin" \
    --against "$perftest -t ucp_am_bw" --json
json '.points[0].rounds | all(.peer_value_ops_per_s > 1)'
run 0 perf bw --write --local na+sm --size 64K --rounds 2 --duration 0.05 \
    --pin "$pin" --against "$perftest -t ucp_put_bw" --json
json '.points[0].rounds | all(.peer_value_bytes_per_s > 1e6)'
nothing_left

# Failures: the reason, and the tool's output.
against 1 'iperf -c'
err_has '"iperf" is not one of fi_pingpong'
against 1 '/nowhere/hg_rate -c na'
err_has "/nowhere/hg_rate does not exist"
against 1 "fi_pingpong 'x"
err_has "a quote is not closed"
against 1 ''
err_has "there is no command"
against 1 'ucx_perftest'
err_has "needs -t"
against 1 'ucx_perftest -t ucp_am_bw'
err_has "measures no latency"
run 1 perf rate --local na+sm --rounds 1 --duration 0.01 \
    --against 'fi_pingpong -e rdm -p tcp'
err_has "fi_pingpong measures latencies only"
nothing_left
against 1 'fi_pingpong -e rdm -p nothing'
err_has "fi_getinfo"
against 1 'fi_pingpong -e rdm --what'
err_has "invalid option"
against 1 "UCX_TLS=nothing $perftest -t ucp_am_lat"
err_has "transport 'nothing' is not available"

# One with unknown output, and one that never becomes ready.
mkdir "$folder/bin"
cat >"$folder/bin/ucx_perftest" <<'EOF'
#!/bin/sh
case " $* " in
*" 127.0.0.1 "*) echo "no figures today" ;;
*) exec "$REAL" "$@" ;;
esac
EOF
printf '#!/bin/sh\necho "out of order" >&2\nexit 3\n' \
    >"$folder/bin/fi_pingpong"
chmod +x "$folder/bin/ucx_perftest" "$folder/bin/fi_pingpong"
REAL=$(command -v ucx_perftest)
export REAL
against 1 "$folder/bin/$perftest -t ucp_am_lat"
err_has "printed no result that is known"
err_has "no figures today"
against 1 "$folder/bin/fi_pingpong -e rdm"
err_has "did not become ready"
err_has "exited with 3"
err_has "out of order"

# Interrupted while a peer runs: it ends at once, and leaves nothing.
"$TALARIA" perf lat --local na+sm --rounds 3 --duration 0.01 \
    --against "$perftest -t ucp_am_lat -n 2000000000" >"$out" 2>"$err" &
pid=$!
ran="talaria perf lat, interrupted"
deadline=$(($(date +%s) + 30))
until pgrep -s 0 -f 'ucx_perftest .*-n 2000000000.*127.0.0.1' >/dev/null; do
    if [ "$(date +%s)" -ge "$deadline" ]; then
        fail "$ran: the peer did not start"
        break
    fi
    sleep 0.05
done
kill -TERM "$pid"
wait "$pid"
nothing_left
finish
