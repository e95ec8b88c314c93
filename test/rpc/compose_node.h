/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that is origin and target at once. It forwards calls along a path
 * of addresses, and answers each when the next node has answered.
 */
#ifndef COMPOSE_NODE_H
#define COMPOSE_NODE_H

#include "mercury_macros.h"
#include "mercury_proc_string.h"

#include <sys/types.h>

/* path: addresses of the remaining nodes, each followed by a space. */
MERCURY_GEN_PROC(hop_in_t, ((hg_const_string_t) (path)))
/* hops: number of handlers that ran along the path. */
MERCURY_GEN_PROC(hop_out_t, ((uint32_t) (hops)))
/* Makes the node itself send count concurrent calls along path. */
MERCURY_GEN_PROC(burst_in_t, ((hg_const_string_t) (path))((uint32_t) (count)))
/* right: number of calls that passed every node of the path. */
MERCURY_GEN_PROC(burst_out_t, ((uint32_t) (right)))

struct compose_ids {
    hg_id_t hop;
    hg_id_t burst;
};

enum compose_kind {
    /* one thread: forwards in the handler, answers in the callback */
    COMPOSE_PLAIN,
    /* a worker thread forwards and answers, some time after handler and
     * callback have returned */
    COMPOSE_LATER,
    /* one thread progresses, others trigger; a handler blocks until the next
     * node has answered */
    COMPOSE_POOL
};

#define COMPOSE_POOL_THREADS 4U

struct compose_process {
    pid_t pid;
    int in; /* one byte written to it ends the node */
    char address[256];
};

/* Registers the RPCs. Handlers are NULL at origins. */
struct compose_ids compose_register(
    hg_class_t *hg_class, hg_rpc_cb_t on_hop, hg_rpc_cb_t on_burst);

/* Starts a node over the transport, in a process of its own. */
void compose_start(
    struct compose_process *process, const char *info, enum compose_kind kind);

/* Stops the node; the case fails if it did not exit with status 0. */
void compose_stop(struct compose_process *process);

#endif /* COMPOSE_NODE_H */
