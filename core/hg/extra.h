/* SPDX-License-Identifier: BSD-3-Clause */
/* The extra payloads of a handle's messages (rendezvous.h): keeping, fetching
 * and cancelling them. */
#ifndef HG_EXTRA_H
#define HG_EXTRA_H

#include "hg/rendezvous.h"

struct hg_handle;

/* Completes an encoding, with result ret, that spilled into the proc's extra
 * buffer. That buffer becomes the message's extra payload, and the message
 * contains a reference to it after the user's space. tag, cookie: of the
 * acknowledgement of a response. OVERFLOW: disabled, or no room for the
 * reference; NOMEM, or as HG_Bulk_create; for responses also as hg_hold_take.
 * Frees the extra buffer on an error. [any thread] */
hg_return_t hg_extra_put(struct hg_handle *handle, struct hg_message *message,
    uint32_t tag, uint32_t cookie, hg_return_t ret);

/* Frees the extra payload of one message of a handle. No fetch may be in
 * progress. */
void hg_extra_drop(struct hg_handle *handle, struct hg_message *message);
/* Frees the extra payloads of both messages. */
void hg_extra_clear(struct hg_handle *handle);

/* Fetches the extra payload of the message that a handle received. Calls
 * `fetched` of its side once, perhaps before this returns. In progress. */
void hg_extra_fetch(struct hg_handle *handle);

/* Cancels a fetch, or the wait for an acknowledgement. The progress lock is
 * held. */
void hg_extra_cancel(struct hg_handle *handle);
/* Cancels a fetch only. The progress lock is held. */
void hg_extra_cancel_fetch(struct hg_handle *handle);

/* Returns the transfer of a handle's fetch, or HG_OP_ID_NULL. The progress lock
 * is held. */
hg_op_id_t hg_extra_transfer(const struct hg_handle *handle);

#endif /* HG_EXTRA_H */
