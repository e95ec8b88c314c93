/* SPDX-License-Identifier: BSD-3-Clause */
/* The report: choices made at open, then counters. */
#include "report.h"
#include "conn.h"

#define LINE(name, kind, field, texts)                                         \
    TP_REPORT_LINE(name, kind, na_plugin_class, field, texts)
#define COUNTER(name, field) LINE(name, COUNTER, field, NULL)

static const struct tp_report_line lines[] = {
    LINE("name", TEXT, name, NULL),
    COUNTER("ring_bytes", sums.ring_bytes),
    COUNTER("queue_bytes", queue_limit),
    LINE("fences", FLAG, membarrier, "membarrier\0every message"),
    LINE("locks", FLAG, single, "none\0yes"),
    LINE("peers", FLAG, any_user, "any\0user"),
    COUNTER("send_timeout_s", sums.send_timeout_s),
    COUNTER("messages_sent", sums.sent),
    COUNTER("ring_bytes_sent", sums.sent_bytes),
    COUNTER("messages_received", received),
    COUNTER("messages_to_self", counters.self),
    COUNTER("unexpected_queued", counters.queued),
    COUNTER("expected_dropped", counters.dropped),
    COUNTER("context_missing", counters.no_context),
    COUNTER("sends_queued", counters.stalls),
    COUNTER("connections_made", counters.connects),
    COUNTER("connections_lost", counters.losses),
    COUNTER("connections_broken", counters.broken),
    COUNTER("callers_refused", counters.refused),
    COUNTER("wakeups_sent", counters.wakeups),
    COUNTER("put_bytes", counters.put_bytes),
    COUNTER("get_bytes", counters.get_bytes),
    COUNTER("emulated_bytes", counters.emulated_bytes),
    COUNTER("mapped_bytes", counters.mapped_bytes),
    COUNTER("burst_bytes", counters.burst_bytes),
    COUNTER("assisted_bytes", counters.assisted_bytes),
    COUNTER("segments_mapped", counters.segments),
    COUNTER("registrations_refused", counters.refused_rma),
    COUNTER("peers_connected", sums.peers),
    COUNTER("peers_bytes", sums.peers_bytes),
};

/* Bytes of a ring of this capacity, 0 if there is none. */
static uint64_t
ring_bytes(uint32_t capacity)
{
    return capacity != 0 ? (uint64_t) capacity + sm_ring_page() : 0;
}

/* Adds live connections to what has ended. [progress] */
static void
add_up(na_plugin_class *cls)
{
    cls->sums.ring_bytes = ring_bytes(cls->ring_capacity);
    cls->sums.send_timeout_s = cls->send_timeout_ns / TP_SECOND;
    cls->sums.sent =
        atomic_load_explicit(&cls->counters.sent, memory_order_relaxed);
    cls->sums.sent_bytes =
        atomic_load_explicit(&cls->counters.sent_bytes, memory_order_relaxed);
    cls->sums.peers = cls->sums.peers_bytes = 0;
    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next) {
        tp_lock_take(&conn->lock);
        cls->sums.sent += conn->sent;
        cls->sums.sent_bytes += sm_ring_produced(&conn->tx);
        cls->sums.peers += conn->state == SM_CONN_UP;
        cls->sums.peers_bytes += sizeof(*conn) + ring_bytes(conn->tx.capacity) +
                                 ring_bytes(conn->rx.capacity);
        tp_lock_drop(&conn->lock);
    }
}

static uint32_t
entries(na_plugin_class *cls, uint32_t first, na_plugin_report_entry *list,
    uint32_t max)
{
    tp_lock_take(&cls->progress);
    add_up(cls);
    uint32_t count = tp_report_entries(
        lines, sizeof(lines) / sizeof(lines[0]), cls, first, list, max);
    tp_lock_drop(&cls->progress);
    return count;
}

const na_plugin_report sm_report = {
    .size = sizeof(sm_report),
    .entries = entries,
};
