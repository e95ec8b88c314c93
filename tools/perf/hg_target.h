/* SPDX-License-Identifier: BSD-3-Clause */
/* The target of the levels rpc and bulk, private to its two files. */
#ifndef PERF_HG_TARGET_H
#define PERF_HG_TARGET_H

#include "perf/hg_queue.h"
#include "perf/hg_side.h"
#include "perf/target.h"

struct bulk_slot;

struct hg_target {
    struct perf_target base;
    struct perf_hg hg;
    bool closing;               /* requests are refused */
    struct perf_hg_queue queue; /* with a progress thread */
    /* Level bulk, otherwise NULL: */
    char *memory; /* of all slots */
    hg_bulk_t local;
    struct bulk_slot *slots;
};

/* Allocates the memory of bulk transfers. false: the failure is set;
 * perf_hg_memory_close must be called. */
bool perf_hg_memory_open(struct hg_target *target);

/* Cancels running transfers and frees the memory. false: some transfers do not
 * end; their memory and the target are leaked. No thread may be polling. */
bool perf_hg_memory_close(struct hg_target *target);

/* Handles a request for a bulk transfer. */
hg_return_t perf_hg_transfer(
    struct hg_target *target, hg_handle_t handle, hg_bulk_op_t direction);

#endif /* PERF_HG_TARGET_H */
