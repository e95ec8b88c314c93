/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of an origin that the levels rpc and bulk share: class, handles and
 * memory. */
#ifndef PERF_HG_ORIGIN_H
#define PERF_HG_ORIGIN_H

#include "perf/hg_side.h"
#include "perf/loop.h"

/* The first member of a level's operation. */
struct perf_hg_op {
    struct perf_op base;
    hg_handle_t handle;
};

struct perf_hg_origin {
    struct perf_origin base;
    struct perf_hg hg;
    char *memory; /* of all operations, or NULL: each has its own */
    void *ops;    /* an array of the level's operations, zeroed at first */
    size_t op_size;
};

/* Opens an origin. op_size: bytes of the level's operation; buffers: of each
 * operation, for the largest size of the plan. NULL: the failure is set. */
struct perf_origin *perf_hg_origin_open(const struct perf_origin_setup *setup,
    const struct perf_origin_ops *ops, size_t op_size, uint32_t buffers);

/* Sets test, size and stride, before each operation is prepared. */
void perf_hg_origin_prepare(
    struct perf_origin *base, enum perf_test test, uint64_t size);

/* Makes an operation call an RPC at its context of the target. */
hg_return_t perf_hg_op_reset(struct perf_hg_op *op, enum perf_rpc rpc);

/* The functions of perf_origin_ops. */
struct perf_op *perf_hg_origin_op(struct perf_origin *base, uint32_t index);
enum perf_poll perf_hg_origin_poll(
    struct perf_origin *base, uint32_t context, unsigned int timeout_ms);
void perf_hg_op_cancel(struct perf_op *base);
void perf_hg_origin_close(struct perf_origin *base);

#endif /* PERF_HG_ORIGIN_H */
