/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many messages to one local receiver, by multi-receives and others: each has
 * to arrive once, whole, with its source and tag.
 */
#ifndef KIT_FLOW_H
#define KIT_FLOW_H

#include "check/class.h"

#define KIT_SENDERS 3U
#define KIT_FLOW_OPS 8U

/* A sender and what has arrived from it: message i has seed i and tag i. */
struct kit_flow {
    struct kit_side *to;
    struct kit_side *from[KIT_SENDERS];
    uint32_t senders;
    uint32_t count;       /* of each sender */
    uint32_t came;        /* of all */
    uint32_t came_before; /* when the clock was read last */
    uint64_t limit;       /* when the next one must have arrived */
    uint32_t taken
        [KIT_FLOW_OPS]; /* messages of operations 0 … that were looked at */
    uint64_t least, range; /* of lengths */
};

/* A receiver here; senders here, or in worker processes; count of each. */
struct kit_flow kit_flow_open(
    uint32_t senders, bool interprocess, uint32_t count);

/* The largest message, and the smallest buffer. */
uint64_t kit_flow_largest(const struct kit_flow *flow);
uint64_t kit_flow_minimum(const struct kit_flow *flow);

/* Length of a buffer for so many of the largest messages: odd, so that a buffer
 * of the kit begins at an odd address. */
uint64_t kit_flow_room(const struct kit_flow *flow, uint32_t messages);

/* Posts a multi-receive, and a plain one. */
void kit_flow_post(
    struct kit_flow *flow, uint32_t op, uint64_t length, bool own);
void kit_flow_post_plain(struct kit_flow *flow, uint32_t op);

/* Sends one message. */
void kit_flow_send(
    const struct kit_flow *flow, uint32_t sender, uint32_t number);

/* Has all senders, in worker processes, send as fast as they can; awaits that. */
void kit_flow_begin(const struct kit_flow *flow);
void kit_flow_join(const struct kit_flow *flow);

/* Takes what an operation has received. Returns whether it is still pending; if
 * not, it must have ended with OK, and a multi-receive because no largest
 * message fits. */
bool kit_flow_take(struct kit_flow *flow, uint32_t op, bool multi);
/* The messages only. */
void kit_flow_take_messages(struct kit_flow *flow, uint32_t op);

/* Bytes of a multi-receive's buffer past its last message. */
uint64_t kit_flow_free(const struct kit_flow *flow, uint32_t op);

bool kit_flow_all_arrived(const struct kit_flow *flow);

/* Fails if nothing has arrived for kit_patience. */
void kit_flow_in_time(struct kit_flow *flow);

/* Runs until all have arrived by operations 0 to count - 1, the first of them
 * multi-receives, which are posted again as they end. */
void kit_flow_receive(
    struct kit_flow *flow, uint32_t count, uint32_t multis, uint64_t length);

/* Cancels a multi-receive that has nothing to report. */
void kit_flow_cancel(struct kit_flow *flow, uint32_t op);

#endif /* KIT_FLOW_H */
