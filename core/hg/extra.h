/* SPDX-License-Identifier: BSD-3-Clause */
/* What a handle's two messages have beyond their buffers (rendezvous.h): keeping
 * it, fetching it, ending that. */
#ifndef HG_EXTRA_H
#define HG_EXTRA_H

#include "hg/rendezvous.h"

struct hg_handle;

/* Frees what goes along with one message of a handle, or with both. Nobody is at
 * work on it. */
void hg_extra_drop(struct hg_handle *handle, struct hg_message *message);
void hg_extra_clear(struct hg_handle *handle);

/* Fetches what the message that a handle received refers to. The side's `fetched`
 * is called once, perhaps before this returns. In progress. */
void hg_extra_fetch(struct hg_handle *handle);

/* Asks to end what is under way: a fetch, or waiting for an acknowledgement; or a
 * fetch alone. The lock of progress is held. */
void hg_extra_cancel(struct hg_handle *handle);
void hg_extra_cancel_fetch(struct hg_handle *handle);

/* The transfer of a handle's fetch; HG_OP_ID_NULL: none is under way. The lock of
 * progress is held. */
hg_op_id_t hg_extra_transfer(const struct hg_handle *handle);

#endif /* HG_EXTRA_H */
