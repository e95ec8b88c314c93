/* SPDX-License-Identifier: BSD-3-Clause */
/* Many messages to one local receiver, by multi-receives and other receives.
 * Each must arrive once, complete, with its source and tag. */
#ifndef KIT_FLOW_H
#define KIT_FLOW_H

#include "check/class.h"

#define KIT_SENDERS 3U
#define KIT_FLOW_OPS 8U

/* A sender and its messages that have arrived: message i has seed i and tag
 * i. */
struct kit_flow {
    struct kit_side *to;
    struct kit_side *from[KIT_SENDERS];
    uint32_t senders;
    uint32_t count;               /* of each sender */
    uint32_t received;            /* from all senders */
    uint32_t received_before;     /* when the limit was set */
    uint64_t limit;               /* time by which the next must arrive */
    uint32_t taken[KIT_FLOW_OPS]; /* checked messages of operations 0 … */
    uint64_t least, range;        /* of lengths */
};

/* Opens a local receiver, and `senders` senders (kit_other) of count messages
 * each. */
struct kit_flow kit_flow_open(uint32_t senders, uint32_t count);

/* Return the sizes of the largest message and of the smallest buffer. */
uint64_t kit_flow_largest(const struct kit_flow *flow);
uint64_t kit_flow_minimum(const struct kit_flow *flow);

/* Returns the size of a buffer for `messages` of the largest messages; odd, so
 * that the kit's buffer begins at an odd address. */
uint64_t kit_flow_room(const struct kit_flow *flow, uint32_t messages);

/* Post a multi-receive, and a plain one. */
void kit_flow_post(
    struct kit_flow *flow, uint32_t op, uint64_t length, bool own);
void kit_flow_post_plain(struct kit_flow *flow, uint32_t op);

/* Sends one message. */
void kit_flow_send(
    const struct kit_flow *flow, uint32_t sender, uint32_t number);

/* Lets all senders, in worker processes, send as fast as possible, and
 * waits. */
void kit_flow_begin(const struct kit_flow *flow);
void kit_flow_join(const struct kit_flow *flow);

/* Records the messages of an operation. Returns whether it is pending;
 * otherwise it must have ended with OK, and a multi-receive because no largest
 * message fits. */
bool kit_flow_take(struct kit_flow *flow, uint32_t op, bool multi);
/* Records the messages only. */
void kit_flow_take_messages(struct kit_flow *flow, uint32_t op);

/* Returns the bytes of a multi-receive's buffer after its last message. */
uint64_t kit_flow_free(const struct kit_flow *flow, uint32_t op);

bool kit_flow_all_arrived(const struct kit_flow *flow);

/* Fails the case if nothing has arrived for kit_patience. */
void kit_flow_in_time(struct kit_flow *flow);

/* Runs until operations 0 to count - 1 have received all messages. The first of
 * them are multi-receives, which are posted again when they end. */
void kit_flow_receive(
    struct kit_flow *flow, uint32_t count, uint32_t multis, uint64_t length);

/* Cancels a multi-receive without messages. */
void kit_flow_cancel(struct kit_flow *flow, uint32_t op);

#endif /* KIT_FLOW_H */
