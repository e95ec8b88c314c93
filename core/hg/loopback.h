/* SPDX-License-Identifier: BSD-3-Clause */
/* RPCs to oneself, without the transport. */
#ifndef HG_LOOPBACK_H
#define HG_LOOPBACK_H

#include "base/lock.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct hg_class;
struct hg_context;
struct hg_handle;

/* Of a class. */
struct hg_loopback {
    bool off;    /* the program wants the transport */
    bool narrow; /* contexts are a thread's own: none reaches another */
    struct base_lock lock;
    LIST_HEAD(, hg_context) contexts; /* that can be addressed */
};

/* Sets it up for a class whose transport is open. */
void hg_loopback_init(struct hg_class *hg_class, bool off);

/* From here on the context takes requests; and no more. Leaving twice is
 * allowed. */
void hg_loopback_enter(struct hg_context *context);
void hg_loopback_leave(struct hg_context *context);

/* Brings a request, encoded and counted as in flight, to where its handle's
 * target_id says. How that went comes by the callback. */
void hg_loopback_forward(struct hg_handle *origin);

/* Brings an encoded answer to who waits for it, if anybody does. Returns what
 * a plugin would: done. */
int32_t hg_loopback_answer(struct hg_handle *target);

/* Ends a forward that waits for its answer; all of a context. [any thread] */
void hg_loopback_cancel(struct hg_handle *origin);
void hg_loopback_cancel_all(struct hg_context *context);

/* Where target handles go when nobody refers to them. */
void hg_loopback_put(struct hg_handle *target);

#endif /* HG_LOOPBACK_H */
