/* SPDX-License-Identifier: BSD-3-Clause */
/* What is shown of a process. */
#include "top/view.h"

#include <stdlib.h>
#include <string.h>

const char *const view_failures[WATCH_FAILURES] = {
    "canceled", "timeout", "unreachable", "message", "unknown_rpc", "other"};

/* The increase of a number; 0 if it is less, which only a broken page has. */
static double
increase(const uint64_t *now, const uint64_t *before, size_t field)
{
    uint64_t old = before ? before[field] : 0;

    return now[field] > old ? (double) (now[field] - old) : 0;
}

/* The latency below which a part of the answers are, in nanoseconds. */
static double
percentile(
    const uint64_t *now, const uint64_t *before, double answers, double part)
{
    double left = answers * part;

    for (unsigned i = 0; i < WATCH_BUCKETS; i++) {
        double count = increase(now, before, WATCH_RPC_LATENCY + i);
        double start = (double) watch_bucket_start(i);
        double end = (double) watch_bucket_start(i + 1);

        if (count > 0 && left <= count)
            return start + (end - start) * left / count;
        left -= count;
    }
    return 0;
}

static bool
is_used(const uint64_t *values, size_t fields)
{
    for (size_t i = 0; i < fields; i++)
        if (values[i] != 0)
            return true;
    return false;
}

/* Tables only grow: an entry keeps its index. */
static const uint64_t *
rpc_before(const struct reader_process *process, size_t i)
{
    return process->valid_before && i < process->before.rpc_count
               ? process->before.rpcs[i].values
               : NULL;
}

static void
add_rpc(struct view *view, size_t i, enum watch_side side)
{
    const struct watch_rpc *rpc = &view->process->now.rpcs[i];
    const uint64_t *before = rpc_before(view->process, i);
    const uint64_t *now = rpc->values + side * (size_t) WATCH_RPC_FIELDS;
    struct view_rpc *row = &view->rpcs[view->rpc_count];
    double failures = 0;

    if (!is_used(now, WATCH_RPC_FIELDS))
        return;
    view->rpc_count++;
    if (before)
        before += side * (size_t) WATCH_RPC_FIELDS;
    *row = (struct view_rpc){
        .name = rpc->name, .id = rpc->key, .side = side, .values = now};
    for (size_t j = 0; j < WATCH_BUCKETS; j++)
        row->answers += increase(now, before, WATCH_RPC_LATENCY + j);
    row->p50_ns = percentile(now, before, row->answers, 0.5);
    row->p99_ns = percentile(now, before, row->answers, 0.99);
    if (view->seconds <= 0)
        return;
    for (size_t j = 0; j < WATCH_FAILURES; j++)
        failures += increase(now, before, WATCH_RPC_FAILURE + j);
    row->failure_rate = failures / view->seconds;
    row->rate = increase(now, before, WATCH_RPC_REQUESTS) / view->seconds;
    view->rate += row->rate;
}

static void
add_peer(struct view_peer *rows, size_t *count_p, double seconds,
    const struct watch_peer *peer, const struct watch_peer *peer_before,
    enum watch_side side)
{
    size_t at = side * (size_t) WATCH_PEER_FIELDS;
    const uint64_t *now = peer->values + at;
    const uint64_t *before = peer_before ? peer_before->values + at : NULL;
    struct view_peer *row = &rows[*count_p];

    if (!is_used(now, WATCH_PEER_FIELDS))
        return;
    ++*count_p;
    *row = (struct view_peer){.name = peer->name, .side = side, .values = now};
    if (seconds <= 0)
        return;
    row->rate = increase(now, before, WATCH_PEER_REQUESTS) / seconds;
    row->sent_rate = increase(now, before, WATCH_PEER_BYTES_SENT) / seconds;
    row->received_rate =
        increase(now, before, WATCH_PEER_BYTES_RECEIVED) / seconds;
    row->bulk_rate = (increase(now, before, WATCH_PEER_BULK_SENT) +
                         increase(now, before, WATCH_PEER_BULK_RECEIVED)) /
                     seconds;
    row->failure_rate = increase(now, before, WATCH_PEER_FAILURES) / seconds;
}

/* Highest rate first, then by name. */
static int
order(double rate_a, double rate_b, const char *name_a, const char *name_b)
{
    if (rate_a != rate_b)
        return rate_a < rate_b ? 1 : -1;
    return strcmp(name_a, name_b);
}

static int
compare_rpcs(const void *a, const void *b)
{
    const struct view_rpc *x = a, *y = b;

    return order(x->rate, y->rate, x->name, y->name);
}

static int
compare_peers(const void *a, const void *b)
{
    const struct view_peer *x = a, *y = b;

    return order(x->rate, y->rate, x->name, y->name);
}

static void
add_times(struct view *view)
{
    const struct watch_body *now = &view->process->now;
    const struct watch_body *before = &view->process->before;
    uint64_t watched = now->watched_ns, counted = now->counted_ns;

    if (view->process->valid_before && watched > before->watched_ns) {
        watched -= before->watched_ns;
        counted =
            counted > before->counted_ns ? counted - before->counted_ns : 0;
        view->seconds = (double) watched / 1e9;
    }
    view->share = watched > 0 && counted < watched
                      ? (double) counted / (double) watched
                      : 1;
}

void
view_make(struct view *view, const struct reader_process *process)
{
    const struct watch_body *now = &process->now, *before = &process->before;

    memset(view, 0, sizeof *view);
    view->process = process;
    if (!process->valid)
        return;
    add_times(view);
    for (int side = 0; side < WATCH_SIDES; side++) {
        for (size_t i = 0; i < now->rpc_count; i++)
            add_rpc(view, i, (enum watch_side) side);
        for (size_t i = 0; i < now->peer_count; i++)
            add_peer(view->peers, &view->peer_count, view->seconds,
                &now->peers[i],
                process->valid_before && i < before->peer_count
                    ? &before->peers[i]
                    : NULL,
                (enum watch_side) side);
        for (size_t i = 0; i < now->transport_count; i++)
            add_peer(view->transports, &view->transport_count, view->seconds,
                &now->transports[i],
                process->valid_before && i < before->transport_count
                    ? &before->transports[i]
                    : NULL,
                (enum watch_side) side);
    }
    qsort(view->rpcs, view->rpc_count, sizeof view->rpcs[0], compare_rpcs);
    qsort(view->peers, view->peer_count, sizeof view->peers[0], compare_peers);
    qsort(view->transports, view->transport_count, sizeof view->transports[0],
        compare_peers);
}
