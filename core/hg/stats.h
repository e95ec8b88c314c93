/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics of a class that was opened with them: per RPC id what talaria.h
 * calls talaria_call_stats, at the origin and at the target. Who calls these
 * functions has asked hg_class.bulk.stats before, or a handle's watch.
 */
#ifndef HG_STATS_H
#define HG_STATS_H

#include "talaria.h"

#include <stdatomic.h>
#include <sys/queue.h>

struct hg_class;
struct hg_handle;
struct hg_rpc;

#define HG_STATS_BUCKETS 40U

/* One side's counts; what each means is told in talaria.h. */
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

/* Moves what was counted, to add it to other counts. */
void hg_stats_move(hg_stats_fields from, hg_stats_fields to);

/* Puts a class on the list of those with statistics; takes it off, and logs
 * its counters if level info is on; logs those of all that are on it. */
void hg_stats_enter(struct hg_class *hg_class);
void hg_stats_leave(struct hg_class *hg_class);
void hg_stats_dump_all(void);

/* A forward begins; has ended, with what its handle says. */
void hg_stats_forward(struct hg_handle *handle);
void hg_stats_forwarded(struct hg_handle *handle);

/* A request is taken over; it is answered, before that is sent; the answer
 * could not be sent, so that it is none; it is not answered; its handle is free
 * again. */
void hg_stats_received(struct hg_handle *handle);
void hg_stats_respond(struct hg_handle *handle, hg_return_t result);
void hg_stats_not_responded(struct hg_handle *handle, hg_return_t ret);
void hg_stats_dropped(struct hg_handle *handle);
void hg_stats_released(struct hg_handle *handle);

#endif /* HG_STATS_H */
