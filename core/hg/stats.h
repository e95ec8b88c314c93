/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a class counts: messages of each kind, and with statistics, by RPC id,
 * what talaria.h calls talaria_call_stats, at the origin and at the target.
 * Atomic counters and nothing else: stage.h says when each stage of a call
 * counts, class_stats.c hands the counts out.
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
    _Atomic uint64_t request_extra;  /* sent, with input moved by RMA */
    _Atomic uint64_t response_extra; /* sent, with output moved by RMA */
    _Atomic uint64_t active;         /* requests that are being handled */
    _Atomic uint64_t multi_recv_copy;
    _Atomic uint64_t dropped; /* messages that were none; always counted */
    _Atomic uint64_t request_unknown; /* requests of no RPC of ours */
    _Atomic uint64_t response_late;   /* to requests that were given up */
    _Atomic uint64_t payload_refused; /* beyond the limits; always counted */
};

/* One side's counts; talaria.h says what each means. */
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

/* The same while it is counted. */
typedef _Atomic uint64_t hg_stats_fields[HG_STATS_FIELDS];

/* Of one RPC id, also when it is registered anew without having been forgotten.
 * Its memory stays until the class ends and is used again for other ids: what a
 * request counts that came before its RPC was forgotten harms nothing. */
struct hg_rpc_stats {
    SLIST_ENTRY(hg_rpc_stats) next;
    SLIST_ENTRY(hg_rpc_stats) spare_next;
    const struct hg_rpc *latest; /* of those with this id; NULL: spare */
    hg_stats_fields origin;
    hg_stats_fields target;
};

static inline void
hg_stats_add(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

/* Counts a request of that many bytes; a failure with a code; an answer, which
 * took so many nanoseconds. once: 1, or UINT64_MAX to take back what was
 * counted. [any thread] */
void hg_stats_add_request(_Atomic uint64_t *fields, uint64_t bytes);
void hg_stats_add_failure(
    _Atomic uint64_t *fields, uint64_t once, hg_return_t ret);
void hg_stats_add_answer(
    _Atomic uint64_t *fields, uint64_t once, uint64_t bytes, uint64_t took_ns);

/* Moves what was counted, to add it to other counts. */
void hg_stats_move(hg_stats_fields from, hg_stats_fields to);

#endif /* HG_STATS_H */
