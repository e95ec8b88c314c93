/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by cases of put and get: a side accesses another's memory. */
#ifndef KIT_RMA_H
#define KIT_RMA_H

#include "check/class.h"

#define KIT_BESIDE 4096U /* bytes checked before and after a range */
#define KIT_BOTH (NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE)

/* Of a pair, a accesses b's memory. Region 0 of each is its own; a has b's as
 * 1. */

/* Register and free regions of `length` bytes in so many segments. */
void kit_rma_regions(const struct kit_pair *pair, uint64_t length,
    uint32_t segments_local, uint32_t segments_there);
void kit_rma_free(const struct kit_pair *pair);

/* Returns length, or the limit of one put or get. */
uint64_t kit_rma_limited(const struct kit_pair *pair, uint64_t length);

/* Makes a's completed puts visible to b: b receives a message from a, which is
 * all that the contract requires. */
void kit_rma_tell(const struct kit_pair *pair);

/* Makes the request of a put or get of a, operation 0. */
struct kit_request kit_rma_request(const struct kit_pair *pair,
    enum kit_kind kind, uint64_t here, uint64_t there, uint64_t length);

/* Fills the source, transfers, and checks sink, source, and up to KIT_BESIDE
 * bytes before and after the sink. whole: bytes of both regions. */
void kit_rma_move(const struct kit_pair *pair, uint64_t whole,
    const struct kit_request *request);

/* A put and a get, limited to what one may transfer. */
void kit_rma_move_both(const struct kit_pair *pair, uint64_t whole,
    uint64_t here, uint64_t there, uint64_t length);

#endif /* KIT_RMA_H */
