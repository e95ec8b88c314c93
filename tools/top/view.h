/* SPDX-License-Identifier: BSD-3-Clause */
/* What is shown of a process: rates and percentiles of the time between two
 * snapshots. */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include "top/reader.h"

#include <stdio.h>

/* Numbers of one side of an RPC. Rates are per second. */
struct view_rpc {
    const char *name;
    uint64_t id;
    enum watch_side side;
    const uint64_t *values; /* since the first reading */
    double rate;
    double failure_rate;
    double answers; /* in this time */
    double p50_ns;  /* 0: no answer in this time */
    double p99_ns;
};

/* Numbers of one side of a peer or of a transport. */
struct view_peer {
    const char *name;
    enum watch_side side;
    const uint64_t *values;
    double rate;
    double sent_rate; /* bytes */
    double received_rate;
    double bulk_rate;
    double failure_rate;
};

struct view {
    const struct reader_process *process;
    double seconds; /* between the snapshots; 0: there is one only */
    double share;   /* part of this time in which every call was counted */
    double rate;    /* requests of both sides */
    size_t rpc_count;
    struct view_rpc rpcs[WATCH_SIDES * WATCH_RPCS];
    size_t peer_count;
    struct view_peer peers[WATCH_SIDES * WATCH_PEERS];
    size_t transport_count;
    struct view_peer transports[WATCH_SIDES * WATCH_TRANSPORTS];
};

/* Fills the view of a process. Rows of what was never used are left out; those
 * with the highest rates are first. */
void view_make(struct view *view, const struct reader_process *process);

/* Names of failures, in the order of the page. */
extern const char *const view_failures[WATCH_FAILURES];

static inline const char *
view_side(enum watch_side side)
{
    return side == WATCH_ORIGIN ? "origin" : "target";
}

#endif /* TOP_VIEW_H */
