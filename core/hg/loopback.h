/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to oneself, without the transport. */
#ifndef HG_LOOPBACK_H
#define HG_LOOPBACK_H

#include <stddef.h>

struct hg_context;
struct hg_handle;

/* Delivers an encoded request, whose operations have begun, to the origin's own
 * context, whatever its target_id: no other context needs progress. The
 * callback reports errors. */
void hg_loopback_forward(struct hg_handle *origin);

/* Copies an encoded response to the origin's handle that waits for it. Returns
 * that handle, or NULL if none waits. */
struct hg_handle *hg_loopback_answer(struct hg_handle *target);
/* Ends the forward of that handle. size: bytes of the response's payload, since
 * the target's handle may have been reused. */
void hg_loopback_answered(struct hg_handle *origin, size_t size);

/* Cancels a forward that waits for its response. [any thread] */
void hg_loopback_cancel(struct hg_handle *origin);
/* Cancels all such forwards of a context. [any thread] */
void hg_loopback_cancel_all(struct hg_context *context);

/* The function `released` of the side of its target handles. */
void hg_loopback_released(struct hg_handle *target);

#endif /* HG_LOOPBACK_H */
