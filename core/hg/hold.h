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

struct base_lock;
struct hg_addr;
struct hg_share;

/* Of a context. */
struct hg_holds {
    _Atomic uint64_t bytes;
    uint64_t total;               /* bytes that may be held at once */
    LIST_HEAD(, hg_share) shares; /* under lock */
    struct base_lock *lock;
    _Atomic uint64_t *refused; /* counts payloads that were not taken */
    unsigned context_id;       /* for the log */
};

/* One payload's part of it. */
struct hg_hold {
    uint64_t bytes;         /* 0: nothing is counted */
    struct hg_share *share; /* of the peer that it counts against, or NULL */
};

/* lock, refused: valid as long as the holds are used. */
void hg_holds_init(struct hg_holds *holds, uint64_t total,
    struct base_lock *lock, _Atomic uint64_t *refused, unsigned context_id);

/* Counts a payload of size bytes, and `beside` bytes that its handle takes. peer:
 * who asked for it, or NULL for what this process has asked for itself. MSGSIZE:
 * it is more than the total; AGAIN: beside the others; NOMEM. The first two are
 * counted and logged. [any thread] */
hg_return_t hg_hold_take(struct hg_hold *hold, struct hg_holds *holds,
    const struct hg_addr *peer, size_t size, size_t beside);

/* Takes it off again; nothing, if nothing is counted. [any thread] */
void hg_hold_release(struct hg_hold *hold, struct hg_holds *holds);

/* Counts a payload that is not taken, and logs some of them. Returns ret. */
hg_return_t hg_hold_refuse(
    struct hg_holds *holds, hg_return_t ret, uint64_t size, uint64_t limit);

#endif /* HG_HOLD_H */
