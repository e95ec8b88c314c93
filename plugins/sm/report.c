/* SPDX-License-Identifier: BSD-3-Clause */
/* The report: choices made at open, then counters. */
#include <stddef.h>

#include "report.h"

#define CHOICES 7U

static const struct {
    const char *name;
    size_t offset; /* in struct sm_counters */
} counters[] = {
    {"messages_sent", offsetof(struct sm_counters, sent)},
    {"ring_bytes_sent", offsetof(struct sm_counters, sent_bytes)},
    {"messages_received", offsetof(struct sm_counters, received)},
    {"messages_to_self", offsetof(struct sm_counters, self)},
    {"unexpected_queued", offsetof(struct sm_counters, queued)},
    {"expected_dropped", offsetof(struct sm_counters, dropped)},
    {"context_missing", offsetof(struct sm_counters, strayed)},
    {"sends_queued", offsetof(struct sm_counters, stalls)},
    {"connections_made", offsetof(struct sm_counters, connects)},
    {"connections_lost", offsetof(struct sm_counters, losses)},
    {"connections_broken", offsetof(struct sm_counters, broken)},
    {"callers_refused", offsetof(struct sm_counters, refused)},
    {"bells_rung", offsetof(struct sm_counters, bells)},
    {"put_bytes", offsetof(struct sm_counters, put_bytes)},
    {"get_bytes", offsetof(struct sm_counters, get_bytes)},
    {"helped_bytes", offsetof(struct sm_counters, helped_bytes)},
    {"mapped_bytes", offsetof(struct sm_counters, mapped_bytes)},
    {"areas_mapped", offsetof(struct sm_counters, areas)},
    {"registrations_refused", offsetof(struct sm_counters, refused_rma)},
};

#define COUNTERS (sizeof(counters) / sizeof(counters[0]))
#define LIVE 2U

/* What live connections add up to. */
struct live {
    uint64_t sent;
    uint64_t bytes;
    uint64_t received;
    uint64_t peers;
    uint64_t memory; /* their structures, and rings as far as mapped */
};

static na_plugin_report_entry
choice(const na_plugin_class *cls, uint32_t index)
{
    switch (index) {
    case 0:
        return (na_plugin_report_entry){
            .name = "name", .text = cls->self->name};
    case 1:
        return (na_plugin_report_entry){
            .name = "ring_bytes", .value = cls->ring_capacity + sm_ring_page()};
    case 2:
        return (na_plugin_report_entry){
            .name = "queue_bytes", .value = cls->queue_limit};
    case 3:
        return (na_plugin_report_entry){.name = "fences",
            .text = cls->membarrier ? "membarrier" : "every message"};
    case 4:
        return (na_plugin_report_entry){
            .name = "locks", .text = cls->single ? "none" : "yes"};
    case 5:
        return (na_plugin_report_entry){
            .name = "peers", .text = cls->any_user ? "any" : "user"};
    default:
        return (na_plugin_report_entry){.name = "send_timeout_s",
            .value = cls->send_timeout_ns / UINT64_C(1000000000)};
    }
}

/* Bytes of a ring of this capacity, 0 if there is none. */
static uint64_t
ring_bytes(uint32_t capacity)
{
    return capacity != 0 ? (uint64_t) capacity + sm_ring_page() : 0;
}

/* What live connections have counted so far belongs to two of the counters. */
static struct live
add_live(na_plugin_class *cls)
{
    struct live live = {0};

    tp_lock_take(&cls->progress);
    live.received = cls->received;
    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next) {
        tp_lock_take(&conn->lock);
        live.sent += conn->sent;
        live.bytes += conn->tx.produced;
        live.peers += conn->state == SM_CONN_UP;
        live.memory += sizeof(*conn) + ring_bytes(conn->tx.capacity) +
                       ring_bytes(conn->rx.capacity);
        tp_lock_drop(&conn->lock);
    }
    tp_lock_drop(&cls->progress);
    return live;
}

static uint32_t
entries(na_plugin_class *cls, uint32_t first, na_plugin_report_entry *list,
    uint32_t max)
{
    struct live live = add_live(cls);
    uint32_t count = 0;

    for (uint32_t i = first; i < CHOICES + COUNTERS + LIVE && count < max;
         i++) {
        if (i < CHOICES) {
            list[count++] = choice(cls, i);
            continue;
        }
        if (i >= CHOICES + COUNTERS) {
            bool memory = i != CHOICES + COUNTERS;
            list[count++] = (na_plugin_report_entry){
                .name = memory ? "peers_bytes" : "peers_connected",
                .value = memory ? live.memory : live.peers};
            continue;
        }
        size_t offset = counters[i - CHOICES].offset;
        const _Atomic uint64_t *counter =
            (const void *) ((const char *) &cls->counters + offset);
        uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);
        if (offset == offsetof(struct sm_counters, sent))
            value += live.sent;
        if (offset == offsetof(struct sm_counters, received))
            value = live.received;
        if (offset == offsetof(struct sm_counters, sent_bytes))
            value += live.bytes;
        list[count++] = (na_plugin_report_entry){
            .name = counters[i - CHOICES].name, .value = value};
    }
    return count;
}

const na_plugin_report sm_report = {
    .size = sizeof(sm_report),
    .entries = entries,
};
