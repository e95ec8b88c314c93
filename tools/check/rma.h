/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by cases of put and get: a side that accesses another's memory. */
#ifndef KIT_RMA_H
#define KIT_RMA_H

#include "check/class.h"

#define KIT_BESIDE 4096U /* bytes at either side of a range */
#define KIT_BOTH (NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE)

/* a accesses b's memory. Region 0 of each is its own; a has b's as 1. */
struct kit_pair {
    struct kit_side *a;
    struct kit_side *b;
};

/* Two sides that have looked each other up; interprocess: b is in a worker
 * process. NULL how: defaults. */
struct kit_pair kit_rma_open(
    bool interprocess, const struct kit_open_options *how);

/* Regions of so many bytes, in so many segments at either end, and their end. */
void kit_rma_regions(const struct kit_pair *pair, uint64_t length,
    uint32_t segments_local, uint32_t segments_there);
void kit_rma_free(const struct kit_pair *pair);

/* length, or the most that one put or get may carry. */
uint64_t kit_rma_limited(const struct kit_pair *pair, uint64_t length);

/* a's puts that have ended are visible to b from now on: a message from a to b
 * was received, which is all that the contract promises. */
void kit_rma_tell(const struct kit_pair *pair);

/* A put or get by a, operation 0. */
struct kit_request kit_rma_request(const struct kit_pair *pair,
    enum kit_kind kind, uint64_t here, uint64_t there, uint64_t length);

/* Fills the source anew, transfers, and checks the sink, the source, and up to
 * KIT_BESIDE bytes at either side of the sink. whole: bytes of both regions. */
void kit_rma_move(const struct kit_pair *pair, uint64_t whole,
    const struct kit_request *request);

/* A put, and a get, limited to what one may carry. */
void kit_rma_move_both(const struct kit_pair *pair, uint64_t whole,
    uint64_t here, uint64_t there, uint64_t length);

#endif /* KIT_RMA_H */
