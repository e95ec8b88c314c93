/* SPDX-License-Identifier: BSD-3-Clause */
/* One side of the levels rpc and bulk: an HG class, its contexts, and the RPCs
 * of both sides. */
#ifndef PERF_HG_SIDE_H
#define PERF_HG_SIDE_H

#include "mercury_macros.h"
#include "perf/origin.h"

/* A payload of `size` bytes; decoding reads exactly as many. */
struct perf_payload {
    void *bytes;
    uint64_t size;
};

/* Requests bytes in the response. */
MERCURY_GEN_PROC(perf_read_in_t, ((hg_uint64_t) (size))((hg_uint64_t) (key)))

/* Requests a pull from the memory, or a push to it. */
MERCURY_GEN_PROC(perf_bulk_in_t, ((hg_bulk_t) (memory))((hg_uint64_t) (slot))(
                                     (hg_uint64_t) (size))((hg_uint64_t) (key)))
MERCURY_GEN_PROC(perf_bulk_out_t, ((hg_int32_t) (ret)))

enum perf_rpc {
    PERF_RPC_ECHO,  /* bytes in both directions */
    PERF_RPC_WRITE, /* bytes to the target */
    PERF_RPC_READ,  /* bytes from the target */
    PERF_RPC_PULL,  /* bulk data to the target */
    PERF_RPC_PUSH,  /* bulk data from the target */
    PERF_RPCS
};

struct perf_hg {
    hg_class_t *hg_class;
    hg_context_t *contexts[PERF_THREADS_MAX];
    hg_id_t ids[PERF_RPCS];
    hg_addr_t addr;   /* at the origin: of the target */
    uint32_t at_once; /* callbacks between two polls */
    struct perf_failure *failure;
};

/* Opens one side. handlers: NULL at the origin. false: the failure is set,
 * nothing is open. */
bool perf_hg_open(struct perf_hg *hg, const char *info,
    const struct perf_plan *plan, const hg_rpc_cb_t handlers[PERF_RPCS],
    struct perf_failure *failure);

/* Opens the origin's side and looks up the target. */
bool perf_hg_connect(struct perf_hg *hg, const struct perf_origin_setup *setup);

/* Lets Talaria allocate touched memory of `size` bytes, for reading and writing,
 * with its descriptor, which frees both. */
hg_return_t perf_hg_bulk_alloc(
    struct perf_hg *hg, hg_size_t size, hg_bulk_t *bulk_p, char **memory_p);

void perf_hg_close(struct perf_hg *hg, const struct perf_plan *plan);

enum perf_poll perf_hg_poll(
    struct perf_hg *hg, uint32_t context, unsigned int timeout_ms);

#endif /* PERF_HG_SIDE_H */
