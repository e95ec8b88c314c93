/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to oneself, without the transport. */
#ifndef HG_LOOPBACK_H
#define HG_LOOPBACK_H

#include <stddef.h>

struct hg_context;
struct hg_handle;

/* Brings a request, encoded and counted as in flight, to its own context,
 * whatever the handle's target_id: nobody else needs to progress for it. How that
 * went is told by the callback. */
void hg_loopback_forward(struct hg_handle *origin);

/* Copies an encoded answer to the origin's handle that waits for it; returns
 * that, or NULL when none does. The other function then ends its forward. size:
 * of the answer's payload, since the target's handle may be in other use. */
struct hg_handle *hg_loopback_answer(struct hg_handle *target);
void hg_loopback_answered(struct hg_handle *origin, size_t size);

/* Ends a forward that waits for its answer; all of a context. [any thread] */
void hg_loopback_cancel(struct hg_handle *origin);
void hg_loopback_cancel_all(struct hg_context *context);

/* released of the side of its targets. */
void hg_loopback_released(struct hg_handle *target);

#endif /* HG_LOOPBACK_H */
