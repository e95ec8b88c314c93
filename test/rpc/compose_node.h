/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that is origin and target at once: it passes calls on along a path of
 * addresses, and answers when the answer of the next has come.
 */
#ifndef COMPOSE_NODE_H
#define COMPOSE_NODE_H

#include "mercury_macros.h"
#include "mercury_proc_string.h"

#include <sys/types.h>

/* path: the addresses still to be visited, a space after each. */
MERCURY_GEN_PROC(hop_in_t, ((hg_const_string_t) (path)))
/* hops: how many handlers ran along the path. */
MERCURY_GEN_PROC(hop_out_t, ((uint32_t) (hops)))
/* Makes the node call the path itself, count times at once. */
MERCURY_GEN_PROC(burst_in_t, ((hg_const_string_t) (path))((uint32_t) (count)))
/* right: calls that visited all of it. */
MERCURY_GEN_PROC(burst_out_t, ((uint32_t) (right)))

struct compose_ids {
    hg_id_t hop;
    hg_id_t burst;
};

enum compose_kind {
    COMPOSE_PLAIN, /* one thread; forwards in the handler, answers in the
                      callback */
    COMPOSE_LATER, /* forwards and answers from a thread that does nothing
                      else, some time after handler and callback returned */
    COMPOSE_POOL   /* one thread progresses, others trigger; handlers wait for
                      the answer of the next */
};

#define COMPOSE_POOL_THREADS 4U

struct compose_process {
    pid_t pid;
    int in; /* a byte tells it to end */
    char address[256];
};

/* Registers the RPCs; origins only call. */
struct compose_ids compose_register(
    hg_class_t *hg_class, hg_rpc_cb_t on_hop, hg_rpc_cb_t on_burst);

/* Starts a node over a transport as a process of its own. */
void compose_start(
    struct compose_process *process, const char *info, enum compose_kind kind);

/* Ends it, in good order; fails the test if it went wrong. */
void compose_stop(struct compose_process *process);

#endif /* COMPOSE_NODE_H */
