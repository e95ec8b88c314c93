/* SPDX-License-Identifier: BSD-3-Clause */
/* One side of the levels rpc and bulk: an HG class, its contexts, and the RPCs
 * that both sides register. */
#ifndef PERF_HG_SIDE_H
#define PERF_HG_SIDE_H

#include "mercury_macros.h"
#include "perf/origin.h"

/* Any bytes; decoding takes as many as there is room for. */
struct perf_payload {
    void *bytes;
    uint64_t size;
};

/* Asks for bytes in the response. */
MERCURY_GEN_PROC(perf_read_in_t, ((hg_uint64_t) (size))((hg_uint64_t) (key)))

/* Asks the target to pull from the memory, or to push into it. */
MERCURY_GEN_PROC(perf_bulk_in_t, ((hg_bulk_t) (memory))((hg_uint64_t) (slot))(
                                     (hg_uint64_t) (size))((hg_uint64_t) (key)))
MERCURY_GEN_PROC(perf_bulk_out_t, ((hg_int32_t) (ret)))

enum perf_rpc {
    PERF_RPC_ECHO,  /* bytes there and back */
    PERF_RPC_WRITE, /* bytes there */
    PERF_RPC_READ,  /* bytes back */
    PERF_RPC_PULL,  /* bulk data there */
    PERF_RPC_PUSH,  /* bulk data back */
    PERF_RPCS
};

struct perf_hg {
    hg_class_t *hg_class;
    hg_context_t *contexts[PERF_THREADS_MAX];
    hg_id_t ids[PERF_RPCS];
    hg_addr_t addr;   /* of the target; at the origin */
    uint32_t at_once; /* callbacks between two polls */
    struct perf_failure *failure;
};

/* Opens one side. handlers: of the RPCs, NULL at the origin. false: the failure
 * is set, nothing is open. */
bool perf_hg_open(struct perf_hg *hg, const char *info,
    const struct perf_plan *plan, const hg_rpc_cb_t handlers[PERF_RPCS],
    struct perf_failure *failure);

/* Opens the origin's, and looks the target up. */
bool perf_hg_connect(struct perf_hg *hg, const struct perf_origin_setup *setup);

void perf_hg_close(struct perf_hg *hg, const struct perf_plan *plan);

enum perf_poll perf_hg_poll(
    struct perf_hg *hg, uint32_t context, unsigned int timeout_ms);

#endif /* PERF_HG_SIDE_H */
