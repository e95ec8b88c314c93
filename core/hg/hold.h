/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a context holds for its peers beyond their messages: arguments and
 * results that were fetched, answers that wait to be acknowledged. All count
 * together against TALARIA_HG_OVERFLOW_TOTAL (base/env.h), each with the buffers
 * of its handle. From half of that on a target also looks at who asks: one peer
 * may then add an eighth of the total, or a single payload, so that others
 * still find room.
 */
#ifndef HG_HOLD_H
#define HG_HOLD_H

#include "mercury_types.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct hg_context;
struct hg_handle;
struct hg_share;

/* Of a context. */
struct hg_holds {
    _Atomic uint64_t bytes;
    LIST_HEAD(, hg_share) shares; /* under pool_lock */
};

/* One payload's part of it. */
struct hg_hold {
    uint64_t bytes;         /* 0: nothing is counted */
    struct hg_share *share; /* of the peer that it counts against, or NULL */
};

/* Counts a payload of size bytes for which a handle is used. MSGSIZE: it is
 * more than the total; AGAIN: beside the others; NOMEM. The first two are counted
 * and logged. [any thread] */
hg_return_t hg_hold_take(
    struct hg_hold *hold, struct hg_handle *handle, size_t size);

/* Takes it off again; nothing, if nothing is counted. [any thread] */
void hg_hold_release(struct hg_hold *hold, struct hg_context *context);

/* Counts and, thinly, logs a payload that is not taken. */
hg_return_t hg_hold_refuse(
    struct hg_context *context, hg_return_t ret, uint64_t size, uint64_t limit);

#endif /* HG_HOLD_H */
