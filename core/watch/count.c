/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting the calls of the process for its page. */
#include "watch/count.h"

#include "bulk/op.h"
#include "watch/call.h"
#include "watch/scale.h"
#include "watch/table.h"

#include <stdio.h>
#include <string.h>

_Static_assert(WATCH_FAILURES == TALARIA_FAILURE_MAX, "the same kinds");

static struct watch_table rpcs, peers, transports;

bool
watch_count_init(void)
{
    return watch_table_init(
               &rpcs, WATCH_RPCS, WATCH_SIDES * (size_t) WATCH_RPC_FIELDS) &&
           watch_table_init(
               &peers, WATCH_PEERS, WATCH_SIDES * (size_t) WATCH_PEER_FIELDS) &&
           watch_table_init(&transports, WATCH_TRANSPORTS,
               WATCH_SIDES * (size_t) WATCH_PEER_FIELDS);
}

static enum watch_side
side_of(const struct hg_handle *handle)
{
    return handle->role == HG_ROLE_ORIGIN ? WATCH_ORIGIN : WATCH_TARGET;
}

static struct watch_entry *
transport_of(const struct na_class *na_class)
{
    char name[WATCH_NAME_SIZE];

    snprintf(
        name, sizeof name, "%s+%s", na_class->plugin->name, na_class->protocol);
    return watch_table_get(&transports, watch_hash(name), name);
}

static struct watch_entry *
local_transport(void)
{
    static const char name[] = "same class";

    return watch_table_get(&transports, watch_hash(name), name);
}

/* Entries of a call. */
struct entries {
    size_t rpc_at;  /* index of the first number of the side */
    size_t peer_at; /* the same of peer and transport */
    struct watch_entry *rpc;
    struct watch_entry *peer;
    struct watch_entry *transport;
};

static struct entries
entries_of(const struct hg_handle *handle)
{
    enum watch_side side = side_of(handle);
    char address[WATCH_ADDRESS_SIZE];

    watch_peer_address(handle, address);
    return (struct entries){.rpc_at = side * (size_t) WATCH_RPC_FIELDS,
        .peer_at = side * (size_t) WATCH_PEER_FIELDS,
        .rpc = watch_table_get(&rpcs, handle->info.id ? handle->info.id : 1,
            watch_rpc_name(handle)),
        .peer = watch_table_get(&peers, watch_hash(address), address),
        .transport = handle->loopback || handle->local
                         ? local_transport()
                         : transport_of(handle->port->net.na_class)};
}

static void
add_rpc(const struct entries *entries, size_t field, uint64_t value)
{
    watch_add(entries->rpc, entries->rpc_at + field, value);
}

static void
add_peer(const struct entries *entries, size_t field, uint64_t value)
{
    watch_add(entries->peer, entries->peer_at + field, value);
    watch_add(entries->transport, entries->peer_at + field, value);
}

static void
add_request(const struct entries *entries, uint64_t bytes)
{
    bool sent = entries->rpc_at == 0;

    add_rpc(entries, WATCH_RPC_REQUESTS, 1);
    add_rpc(entries, WATCH_RPC_REQUEST_BYTES, bytes);
    add_peer(entries, WATCH_PEER_REQUESTS, 1);
    add_peer(entries, sent ? WATCH_PEER_BYTES_SENT : WATCH_PEER_BYTES_RECEIVED,
        bytes);
}

static void
add_answer(
    const struct entries *entries, const struct hg_handle *handle, uint64_t now)
{
    uint64_t bytes = watch_out_size(handle);
    uint64_t took = now > handle->began ? now - handle->began : 0;
    bool received = entries->rpc_at == 0;

    add_rpc(entries, WATCH_RPC_ANSWERS, 1);
    add_rpc(entries, WATCH_RPC_ANSWER_BYTES, bytes);
    add_rpc(entries, WATCH_RPC_LATENCY_NS, took);
    add_rpc(entries, WATCH_RPC_LATENCY + watch_bucket(took), 1);
    add_peer(entries,
        received ? WATCH_PEER_BYTES_RECEIVED : WATCH_PEER_BYTES_SENT, bytes);
}

static void
add_failure(const struct entries *entries, int ret)
{
    add_rpc(
        entries, WATCH_RPC_FAILURE + hg_stats_failure((hg_return_t) ret), 1);
    add_peer(entries, WATCH_PEER_FAILURES, 1);
}

/* The end of a forward, or a response. */
static void
count_end(const struct hg_handle *handle, int ret)
{
    struct entries entries;
    bool observed = hg_call_is_observed(&handle->call);

    if (!observed && ret == HG_SUCCESS)
        return;
    entries = entries_of(handle);
    if (ret != HG_SUCCESS)
        add_failure(&entries, ret);
    if (observed && (ret == HG_SUCCESS || handle->role == HG_ROLE_TARGET))
        add_answer(&entries, handle, watch_now());
}

static void
add_scale(const struct hg_handle *handle)
{
    if (handle->role == HG_ROLE_ORIGIN)
        watch_scale_add(WATCH_ORIGIN, handle, handle->cookie);
    else
        watch_scale_add(WATCH_TARGET, handle->local ? NULL : handle->port,
            atomic_load_explicit(&handle->port->taken, memory_order_relaxed));
}

bool
watch_count_stage(const struct hg_handle *handle, int stage, int ret)
{
    struct entries entries;

    switch (stage) {
    case HG_STAGE_FORWARD:
    case HG_STAGE_RECEIVED:
        entries = entries_of(handle);
        add_request(&entries, watch_in_size(handle));
        add_scale(handle);
        return true;
    case HG_STAGE_FORWARDED:
    case HG_STAGE_RESPOND:
        count_end(handle, ret);
        return false;
    case HG_STAGE_NOT_RESPONDED:
        entries = entries_of(handle);
        add_failure(&entries, ret);
        return false;
    case HG_STAGE_DROPPED:
        entries = entries_of(handle);
        add_rpc(&entries, WATCH_RPC_DROPPED, 1);
        return false;
    default:
        return false;
    }
}

bool
watch_count_bulk(const struct bulk_op *op)
{
    struct watch_entry *entry = transport_of(op->na_context->na_class);

    watch_add(entry, WATCH_PEER_BULK_TRANSFERS, 1);
    watch_add(entry,
        op->op == HG_BULK_PUSH ? WATCH_PEER_BULK_SENT
                               : WATCH_PEER_BULK_RECEIVED,
        op->size);
    return true;
}

/* Of the period that ends. */
static double time_factor, factors[WATCH_SIDES];

/* Failures are reported of every call. */
static double
rpc_factor(size_t field)
{
    size_t side = field / WATCH_RPC_FIELDS;

    field %= WATCH_RPC_FIELDS;
    return field >= WATCH_RPC_FAILURE && field < WATCH_RPC_LATENCY
               ? 1.0
               : factors[side];
}

static double
peer_factor(size_t field)
{
    size_t side = field / WATCH_PEER_FIELDS;

    field %= WATCH_PEER_FIELDS;
    if (field == WATCH_PEER_FAILURES)
        return 1.0;
    return field >= WATCH_PEER_BULK_TRANSFERS ? time_factor : factors[side];
}

void
watch_count_fold(double factor)
{
    time_factor = factor;
    for (size_t side = 0; side < WATCH_SIDES; side++) {
        double scale = watch_scale_end((enum watch_side) side, factor);

        /* If every call was counted, none stands for others. */
        factors[side] = factor > 1.0 ? scale : 1.0;
    }
    watch_table_fold(&rpcs, rpc_factor);
    watch_table_fold(&peers, peer_factor);
    watch_table_fold(&transports, peer_factor);
}

static void
copy_values(uint64_t *to, const struct watch_table *table, size_t index)
{
    for (size_t i = 0; i < table->fields; i++)
        to[i] = (uint64_t) (table->entries[index].total[i] + 0.5);
}

static void
copy_peers(struct watch_peer *to, const struct watch_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        to[i].key = table->entries[i].key;
        memcpy(to[i].name, table->entries[i].name, WATCH_NAME_SIZE);
        copy_values(to[i].values, table, i);
    }
}

void
watch_count_copy(struct watch_body *body)
{
    body->rpc_count = rpcs.count;
    for (size_t i = 0; i < rpcs.count; i++) {
        body->rpcs[i].key = rpcs.entries[i].key;
        memcpy(body->rpcs[i].name, rpcs.entries[i].name, WATCH_NAME_SIZE);
        copy_values(body->rpcs[i].values, &rpcs, i);
    }
    body->peer_count = peers.count;
    copy_peers(body->peers, &peers);
    body->transport_count = transports.count;
    copy_peers(body->transports, &transports);
}
