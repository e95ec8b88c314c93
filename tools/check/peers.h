/* SPDX-License-Identifier: BSD-3-Clause */
/* For cases about peers that die, stop, connect and disconnect. */
#ifndef KIT_PEERS_H
#define KIT_PEERS_H

#include "check/kit.h"

/* Operations that these functions use, on either side. */
#define KIT_PEERS_OPS 500U

#define KIT_FILL 128U

/* Length of a small message of any kind. */
uint64_t kit_small(struct kit_side *side);

/* They look each other up, and connect by messages. */
void kit_lookup_each_other(struct kit_side *a, struct kit_side *b);

/* An unexpected message from a to b, and an expected one back; one that does
 * not arrive breaks the rule. */
void kit_round_trip(struct kit_side *a, struct kit_side *b, uint32_t rule);

/* The same between these contexts. */
void kit_round_trip_between(struct kit_side *a, uint32_t a_ctx,
    struct kit_side *b, uint32_t b_ctx, uint32_t rule);

/* Memory of both sides, so many bytes each: region 0, the source of the other's
 * gets, 1, the sink of its puts, which it has as 4 and 5, and 2, its own. */
void kit_share(
    struct kit_side *a, struct kit_side *b, uint64_t length, uint64_t seed);

/* Sends largest messages to a side that does not poll until some of them have
 * to wait, at most KIT_FILL, from operation first on. Returns the first that
 * waits, or KIT_NOBODY; *count_p: how many were sent. from: a local side. */
uint32_t kit_fill(struct kit_side *from, struct kit_side *to, uint32_t first,
    uint32_t *count_p);

/* The peer of this operation has died: it ends, with HOSTUNREACH or IO_ERROR,
 * or with OK if it may have been in time. */
void kit_await_dead(struct kit_side *side, uint32_t op, bool in_time);

#endif /* KIT_PEERS_H */
