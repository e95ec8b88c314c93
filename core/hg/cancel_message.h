/* SPDX-License-Identifier: BSD-3-Clause */
/* Cancel messages. An origin that gives up a request sends one to the target,
 * which would otherwise wait until its timeout for the acknowledgement of a
 * large response. A target that has not responded yet remembers the message
 * until it does. */
#ifndef HG_CANCEL_MESSAGE_H
#define HG_CANCEL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hg_context;
struct hg_handle;

/* Sends a cancel message for a forward that fails, if the request was sent and
 * not answered, and `operation`, which is about to end, is the only one left
 * (HG_CALL_SEND or HG_CALL_RECV; 0: none is left). [any thread] */
void hg_cancel_message_send(struct hg_handle *handle, uint32_t operation);

/* Handles a message that arrived in a handle, if it is a cancel message; else
 * returns false. *transferring_p: the handle of the cancelled request if its
 * input or response is being fetched, which the caller has to cancel; else
 * NULL. In progress. */
bool hg_cancel_message_take(struct hg_handle *handle, const void *bytes,
    size_t size, struct hg_handle **transferring_p);

/* Returns whether a cancel message arrived for the request to which a handle is
 * about to respond. The progress lock is held. */
bool hg_cancel_message_received(const struct hg_handle *handle);

/* Frees the remembered messages of a context. */
void hg_cancel_messages_forget(struct hg_context *context);

/* Frees all messages, after the transport has released those being sent. */
void hg_cancel_messages_finish(struct hg_context *context);

#endif /* HG_CANCEL_MESSAGE_H */
