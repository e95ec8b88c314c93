/* SPDX-License-Identifier: BSD-3-Clause */
/* For cases about peers that die, stop, come and go. */
#ifndef KIT_PEERS_H
#define KIT_PEERS_H

#include "check/kit.h"

/* Operations that these functions use, on either side. */
#define KIT_PEERS_OPS 500U

#define KIT_FILL 128U

/* Length of a small message of any kind. */
uint64_t kit_small(struct kit_side *side);

/* They know each other, and have been connected by messages. */
void kit_acquaint(struct kit_side *a, struct kit_side *b);

/* An unexpected message from a to b, and an expected one back; what does not
 * come breaks the rule. */
void kit_trip(struct kit_side *a, struct kit_side *b, uint32_t rule);

/* The same between these contexts. */
void kit_trip_between(struct kit_side *a, uint32_t a_ctx, struct kit_side *b,
    uint32_t b_ctx, uint32_t rule);

/* Memory of both sides, so many bytes each: region 0 that the other one gets from,
 * 1 that it puts to, which it knows as 4 and 5, and 2 of its own. */
void kit_share(
    struct kit_side *a, struct kit_side *b, uint64_t length, uint64_t seed);

/* Sends largest messages to a side that does not poll until some of them have
 * to wait, at most KIT_FILL. From operation first on. The first that waits, or
 * KIT_NOBODY; *count_p: how many were sent. from: here. */
uint32_t kit_fill(struct kit_side *from, struct kit_side *to, uint32_t first,
    uint32_t *count_p);

/* The peer of this operation has died: it ends, with HOSTUNREACH or IO_ERROR,
 * or with OK if it may have been in time. */
void kit_await_dead(struct kit_side *side, uint32_t op, bool in_time);

#endif /* KIT_PEERS_H */
