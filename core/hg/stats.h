/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of a class: messages of each kind, and with statistics, for each RPC
 * id, talaria_call_stats of talaria.h at origin and target. Atomic counters
 * only: stage.h defines when a call counts, class_stats.c returns the counts.
 */
#ifndef HG_STATS_H
#define HG_STATS_H

#include "talaria.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/queue.h>

struct hg_rpc;

#define HG_STATS_BUCKETS 40U

struct hg_counters {
    _Atomic uint64_t request_sent;
    _Atomic uint64_t request_received;
    _Atomic uint64_t response_sent;
    _Atomic uint64_t response_received;
    _Atomic uint64_t request_extra;  /* sent, with extra payload */
    _Atomic uint64_t response_extra; /* sent, with extra payload */
    _Atomic uint64_t active;         /* requests being handled */
    _Atomic uint64_t multi_recv_copy;
    _Atomic uint64_t dropped;         /* malformed messages; always counted */
    _Atomic uint64_t request_unknown; /* requests for unregistered RPCs */
    _Atomic uint64_t response_late;   /* responses to cancelled requests */
    _Atomic uint64_t payload_refused; /* beyond the limits; always counted */
};

/* Counts of one side, explained in talaria.h. */
struct hg_call_counts {
    uint64_t requests;
    uint64_t request_bytes;
    uint64_t answers;
    uint64_t answer_bytes;
    uint64_t dropped;
    uint64_t latency_ns;
    uint64_t failures[TALARIA_FAILURE_MAX];
    uint64_t latency[HG_STATS_BUCKETS];
};

#define HG_STATS_FIELDS (sizeof(struct hg_call_counts) / sizeof(uint64_t))

/* Index of a field in the counters below. */
#define HG_STATS_FIELD(name)                                                   \
    (offsetof(struct hg_call_counts, name) / sizeof(uint64_t))

/* The fields of hg_call_counts as atomic counters. */
typedef _Atomic uint64_t hg_stats_fields[HG_STATS_FIELDS];

/* Counters of one RPC id, kept when it is registered again without having been
 * deregistered. The memory lives until the class is finalized and is reused for
 * other ids: a request that arrived before its RPC was deregistered may still
 * count there. */
struct hg_rpc_stats {
    SLIST_ENTRY(hg_rpc_stats) next;
    SLIST_ENTRY(hg_rpc_stats) spare_next;
    const struct hg_rpc *latest; /* latest RPC with this id; NULL: unused */
    hg_stats_fields origin;
    hg_stats_fields target;
};

static inline void
hg_stats_add(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

/* Returns the kind of a failure. */
enum talaria_failure hg_stats_failure(hg_return_t ret);

/* Counts a request of that many bytes. [any thread] */
void hg_stats_add_request(_Atomic uint64_t *fields, uint64_t bytes);
/* Counts a failure. once: 1, or UINT64_MAX to subtract it again. [any thread]
 */
void hg_stats_add_failure(
    _Atomic uint64_t *fields, uint64_t once, hg_return_t ret);
/* Counts a response that took took_ns nanoseconds. once: 1, or UINT64_MAX to
 * subtract it again. [any thread] */
void hg_stats_add_answer(
    _Atomic uint64_t *fields, uint64_t once, uint64_t bytes, uint64_t took_ns);

/* Adds the counts of `from` to `to`, and clears `from`. */
void hg_stats_move(hg_stats_fields from, hg_stats_fields to);

#endif /* HG_STATS_H */
