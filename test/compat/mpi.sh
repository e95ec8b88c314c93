#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The project subprojects/na-mpi, built on what is installed with one MPI, works
# in jobs of that MPI:
#
#   mpi.sh MESON BUILD_DIR SOURCE_ROOT PKG_CONFIG_NAME MPIRUN
#
# Installs BUILD_DIR below a folder of its own. Then: a program that hands over
# its communicator, and that gets forged messages; talaria perf with 2, 4 and 16
# processes; the conformance kit, some of its cases unless it is soaking. Exit
# status 0, 1 with what failed, or 77 without that MPI.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=stage.sh disable=SC1091
. "$here/stage.sh"
patience=60 # seconds for whatever should end by itself

if [ $# -ne 5 ] || [ ! -d "$3/subprojects/na-mpi" ]; then
    echo 'usage: mpi.sh MESON BUILD_DIR SOURCE_ROOT PKG_CONFIG_NAME MPIRUN' >&2
    exit 1
fi
meson=$1 build=$2 source_root=$3 mpi=$4 mpirun=$5
for variable in ${!TALARIA_PLUGIN@} ${!HG_@} ${!NA_@} ${!PKG_CONFIG@} DESTDIR; do
    unset "$variable"
done
if ! pkg-config --exists "$mpi" || ! command -v "$mpirun" >/dev/null; then
    echo "skipped: no $mpi of pkg-config, or no $mpirun: no such MPI here"
    exit 77
fi

tmp=$(realpath "$(mktemp -d)") || exit 1
trap 'rm -rf "$tmp"' EXIT

# Root, more processes than processors, this machine's memory alone.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=^tcp,openib OMPI_MCA_oob_tcp_if_include=lo
export OMPI_MCA_hwloc_base_binding_policy=none
# The same for Open MPI 5.
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export UCX_TLS=self,sm

fail() {
    echo "FAIL $*"
    tail -n 60 "$tmp/output" | sed 's/^/    /'
    exit 1
}

# say COMMAND...: its output is kept for a failure.
say() {
    timeout "$patience" "$@" >"$tmp/output" 2>&1 </dev/null
}

# all_received WHAT: MPI has complained of no message that was not received. What
# is looked for is a warning of UCX, which MPICH uses.
all_received() {
    ! grep -q 'was not matched' "$tmp/output" || fail "$1: unmatched messages"
}

stage "$meson" "$build" "$tmp/stage" ||
    { mv "$tmp/stage.output" "$tmp/output" && fail 'meson install'; }
pkg-config --exists talaria-plugin || fail 'no talaria-plugin.pc is installed'
talaria=$(command -v talaria) || fail 'no talaria is installed'

if ! say "$meson" setup "$tmp/build" "$source_root/subprojects/na-mpi" \
    -Dmpi="$mpi" -Dwerror=true -Dprefix="$tmp/stage" || ! say ninja -C "$tmp/build" ||
    ! say "$meson" install -C "$tmp/build" --no-rebuild; then
    fail "subprojects/na-mpi cannot be built with $mpi"
fi
plugin=$(find "$tmp/stage" -name libna_mpi.so)
[ -n "$plugin" ] || fail 'the plugin is not installed in the plugin folder'

say "$talaria" info || fail 'talaria info'
grep -q 'mpi' "$tmp/output" || fail 'talaria info does not list the plugin'

# With a communicator of the program, and with the plugin's.
for n in 1 2 4; do
    for which in '' none; do
        say "$mpirun" -n $n "$tmp/build/job" $which ||
            fail "job of $n $which: status $?"
        grep -qx "$n ranks: ok" "$tmp/output" || fail "job of $n $which"
        all_received "job of $n $which"
    done
done

# by_rank SERVE MEASURE: what rank 0 runs, and the others. One program to mpirun,
# since that of Open MPI 5.0.7 crashes with two, whatever they are.
cat >"$tmp/by_rank" <<'END'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$PMIX_RANK}}
[ "$rank" = 0 ] && exec $1
exec $2
END
chmod +x "$tmp/by_rank"

# As a vendor would try it, and as an administrator would have it.
installed=$(dirname "$plugin")
mkdir "$tmp/elsewhere"
mv "$installed"/libna_mpi.* "$tmp/elsewhere"
for way in TALARIA_PLUGIN_PATH TALARIA_PLUGIN_FILES plugins.d; do
    run=(env)
    case $way in
    TALARIA_PLUGIN_PATH) run+=("$way=$tmp/elsewhere") ;;
    TALARIA_PLUGIN_FILES) run+=("$way=$tmp/elsewhere/libna_mpi.so") ;;
    plugins.d)
        if ! plugins_d "$tmp/stage" "$tmp/elsewhere/libna_mpi.json" \
            "$tmp/elsewhere/libna_mpi.so"; then
            echo "left out: plugins.d, $(head -n 1 "$tmp/stage.output")"
            continue
        fi
        run=("$within")
        ;;
    esac
    say "${run[@]}" "$mpirun" -n 2 "$tmp/by_rank" \
        "$talaria perf serve --once mpi+static" \
        "$talaria perf lat --in-process --level rpc --size 64 --verify \
        --rounds 1 --operations 20 mpi+static://0" || fail "by $way: status $?"
done
rm -rf "$(pkg-config --variable=manifestdir talaria-plugin)"
mv "$tmp/elsewhere"/* "$installed"

# perf CLIENTS MODE OPTION...: rank 0 serves, the others measure at once.
perf() {
    local clients=$1 mode=$2
    shift 2
    say "$mpirun" -n $((clients + 1)) "$tmp/by_rank" \
        "$talaria perf serve --once=$clients mpi+static" \
        "$talaria perf $mode --in-process --csv --verify --rounds 2 \
            --operations 50 --warm-up 5 $* mpi+static://0" ||
        fail "perf $mode $*, $clients clients: status $?"
    [ "$(grep -c '"*mpi+static://0' "$tmp/output")" -ge "$clients" ] ||
        fail "perf $mode $*, $clients clients: too few figures"
    all_received "perf $mode $*, $clients clients"
}
perf 1 lat --level na --size 8,4K
perf 1 lat --level rpc --size 0,64K
perf 1 bw --level bulk --size 4K,1M
perf 3 rate --level rpc
perf 15 rate --level rpc --rounds 1 --operations 10

# A process that fails ends the job, whatever the others wait for.
say "$mpirun" -n 2 "$tmp/by_rank" "$talaria perf serve mpi+static" \
    "$talaria perf lat --in-process --level na --size 1M mpi+static://0"
status=$?
case $status in
0 | 124) fail "a process fails: status $status" ;;
esac
grep -q 'bytes are too many' "$tmp/output" || fail 'a process fails: no reason'

cases='@(source_is_*|*_sizes_interprocess|senders|self_send|over_receive_*'
cases+='|rma_bounds_interprocess|rma_rights_interprocess|put_visible_contexts'
cases+='|rma_segments_interprocess|forged_*|cancel_*_interprocess|cancel_sends'
cases+='|contexts_all_pairs_interprocess|destroy_pending_interprocess'
cases+='|contexts_burst|contexts_self_sizes'
cases+='|closed_during_sends|close_on_exec|fork_survived|thread_submits)'
patience=180
[ "${TALARIA_TEST_SOAK-}" = 1 ] && cases='*' && patience=1200
say "$talaria" check --launch "$mpirun" --quick --limit 60 --verbose \
    --case "$cases" "$plugin" static || fail "talaria check: status $?"
passed=$(grep -c '^passed ' "$tmp/output")
[ "$passed" -ge 20 ] || fail "only $passed cases passed"
echo "mpi.sh: ok, $passed cases of talaria check"
