/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The acknowledgement of an answer whose payload the origin fetches: the target
 * keeps the payload until then. A request needs none: its answer is one. A handle
 * has a struct hg_ack from when such an answer is encoded, or arrives, until it is
 * acknowledged.
 */
#ifndef HG_ACK_H
#define HG_ACK_H

#include "hg/handle.h"

struct hg_ack {
    struct hg_handle *handle;
    struct na_op *op;
    char *buffer;
    uint32_t tag;
    uint32_t cookie;
    uint32_t tries;         /* of sending it */
    bool ending;            /* the end of its receive was asked for */
    _Atomic uint32_t parts; /* target: sending the answer, receiving this */
};

/* Target: makes the acknowledgement of the answer that is being encoded, with a
 * tag and a cookie. NOMEM. [any thread] */
hg_return_t hg_ack_create(
    struct hg_handle *handle, uint32_t *tag_p, uint32_t *cookie_p);

/* Target: posts its receive, before the answer is sent. CANCELED: the origin does
 * not wait any more; or as the receive. [any thread] */
hg_return_t hg_ack_await(struct hg_handle *handle);

/* Target: the answer could not be sent, and nobody will acknowledge it. The handle
 * may send another one at once; until the transport has released the receive the
 * handle has one reference more. [any thread] */
void hg_ack_unsent(struct hg_handle *handle);

/* Target: the answer was sent, or acknowledged. true: both, and its payload is
 * withdrawn; or there was nothing to acknowledge. */
bool hg_ack_part_ended(struct hg_handle *handle);

/* Target: asks the transport to end the receive, if it is posted. The lock of
 * progress is held. */
void hg_ack_cancel(struct hg_handle *handle);

/* Origin: makes the acknowledgement of the answer that has arrived, which
 * announced its tag and cookie. NOMEM. In progress. */
hg_return_t hg_ack_announced(
    struct hg_handle *handle, uint32_t tag, uint32_t cookie);

/* Origin: tells the target how fetching its answer went; then the side's
 * `fetched` is called, perhaps before this returns. In progress. */
void hg_ack_send(struct hg_handle *handle, hg_return_t ret);

#endif /* HG_ACK_H */
