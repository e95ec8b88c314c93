/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that their origin gives up: it tells the target, which otherwise
 * would wait for ever for somebody to acknowledge a large answer. A target that
 * has not answered yet remembers it until it does.
 */
#ifndef HG_ABANDON_H
#define HG_ABANDON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hg_context;
struct hg_handle;

/* Of a forward that fails: sends a cancel message if the request was sent and not
 * answered, and no operation is left but this one, which is about to end (HG_CALL_
 * SEND, RECV; 0: none is). [any thread] */
void hg_abandon(struct hg_handle *handle, uint32_t operation);

/* Takes what arrived in a handle as the message of an origin that gives a request
 * up; false: it is not one. *moving_p: the handle of that request if its arguments
 * or its answer are being fetched, for the caller to end that; else NULL. In
 * progress. */
bool hg_abandon_take(struct hg_handle *handle, const void *bytes, size_t size,
    struct hg_handle **moving_p);

/* Whether the request of a handle that is about to answer was given up. The
 * lock of progress is held. */
bool hg_abandon_known(const struct hg_handle *handle);

/* Forgets what a context remembers; and, once the transport has nothing of it
 * any more, frees it. */
void hg_abandon_forget(struct hg_context *context);
void hg_abandon_finish(struct hg_context *context);

#endif /* HG_ABANDON_H */
