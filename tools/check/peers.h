/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by cases about peers that die, stop, connect and disconnect. */
#ifndef KIT_PEERS_H
#define KIT_PEERS_H

#include "check/kit.h"

/* Numbers of the operations of these functions, at either side. */
#define KIT_PEERS_OPS 500U

#define KIT_FILL 128U

/* Bytes of a small message of any kind. */
uint64_t kit_small(struct kit_side *side);

/* Lets both sides look each other up and connect by messages. */
void kit_lookup_each_other(struct kit_side *a, struct kit_side *b);

/* Sends an unexpected message from a to b, and an expected one back. A message
 * that does not arrive breaks the rule. */
void kit_round_trip(struct kit_side *a, struct kit_side *b, uint32_t rule);

/* The same between these contexts. */
void kit_round_trip_between(struct kit_side *a, uint32_t a_ctx,
    struct kit_side *b, uint32_t b_ctx, uint32_t rule);

/* Registers memory of both sides, of `length` bytes each: region 0, the source
 * of the other side's gets; 1, the sink of its puts (it has both as 4 and 5);
 * 2, its own. */
void kit_share(
    struct kit_side *a, struct kit_side *b, uint64_t length, uint64_t seed);

/* Sends largest messages to a side that does not poll until some are held back,
 * KIT_FILL at most, beginning with operation first. Returns the first one held
 * back, or KIT_NOBODY. *count_p: messages sent. from: a local side. */
uint32_t kit_fill(struct kit_side *from, struct kit_side *to, uint32_t first,
    uint32_t *count_p);

/* Checks the operation of a peer that has died: it ends with HOSTUNREACH or
 * IO_ERROR, or with OK if it may have completed before. */
void kit_await_dead(struct kit_side *side, uint32_t op, bool in_time);

#endif /* KIT_PEERS_H */
