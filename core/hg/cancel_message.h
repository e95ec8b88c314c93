/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cancel messages: an origin that gives up a request tells the target, which
 * otherwise would wait for the acknowledgement of a large answer until its limit.
 * A target that has not answered yet remembers the message until it does.
 */
#ifndef HG_CANCEL_MESSAGE_H
#define HG_CANCEL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hg_context;
struct hg_handle;

/* Of a forward that fails: sends a cancel message if the request was sent and not
 * answered, and no operation is left but this one, which is about to end (HG_CALL_
 * SEND, RECV; 0: none is). [any thread] */
void hg_cancel_message_send(struct hg_handle *handle, uint32_t operation);

/* Takes what arrived in a handle as a cancel message; false: it is not one. *moving_p: the handle of that request if its arguments
 * or its answer are being fetched, for the caller to end that; else NULL. In
 * progress. */
bool hg_cancel_message_take(struct hg_handle *handle, const void *bytes,
    size_t size, struct hg_handle **moving_p);

/* Whether a cancel message arrived for the request of a handle that is about to
 * answer. The lock of progress is held. */
bool hg_cancel_message_received(const struct hg_handle *handle);

/* Forgets the messages that a context remembers; and frees all, once the
 * transport has released those that it was sending. */
void hg_cancel_messages_forget(struct hg_context *context);
void hg_cancel_messages_finish(struct hg_context *context);

#endif /* HG_CANCEL_MESSAGE_H */
