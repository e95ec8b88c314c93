/* SPDX-License-Identifier: BSD-3-Clause */
/* Acknowledgement of a response whose payload the origin fetches. The target
 * keeps the payload until it arrives. Requests need none, since the response
 * acknowledges them. A handle has a struct hg_ack from when such a response is
 * encoded (target) or arrives (origin) until it is acknowledged. */
#ifndef HG_ACK_H
#define HG_ACK_H

#include "hg/handle.h"

struct hg_ack {
    struct hg_handle *handle;
    struct na_op *op;
    char *buffer;
    uint32_t tag;
    uint32_t cookie;
    uint32_t tries;           /* attempts to send it */
    bool ending;              /* its receive was cancelled */
    _Atomic uint32_t pending; /* target: sending the answer, receiving this */
};

/* Target: posts the receive, before the response is sent, if that announces this
 * tag and cookie. NOMEM; CANCELED: the origin has cancelled the request; or an
 * error of the receive. [any thread] */
hg_return_t hg_ack_await(
    struct hg_handle *handle, uint32_t tag, uint32_t cookie);

/* Target: the response could not be sent, so no acknowledgement will arrive.
 * The handle may send another response at once. It has one more reference until
 * the transport has released the receive. [any thread] */
void hg_ack_unsent(struct hg_handle *handle);

/* Target: one of two operations has completed: sending the response, or
 * receiving the acknowledgement. Returns true after both, and withdraws the
 * payload; also if there was nothing to acknowledge. */
bool hg_ack_op_ended(struct hg_handle *handle);

/* Target: cancels the receive, if it is posted. The progress lock is held. */
void hg_ack_cancel(struct hg_handle *handle);

/* Origin: creates the acknowledgement of a response that has arrived and
 * announced this tag and cookie. NOMEM. In progress. */
hg_return_t hg_ack_announced(
    struct hg_handle *handle, uint32_t tag, uint32_t cookie);

/* Origin: sends the result of fetching the response. Then calls `fetched` of
 * the handle's side, perhaps before this returns. In progress. */
void hg_ack_send(struct hg_handle *handle, hg_return_t ret);

#endif /* HG_ACK_H */
