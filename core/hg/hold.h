/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that a context uses for its peers beside their messages: fetched input
 * and output, and responses until they are acknowledged. All count against
 * TALARIA_HG_OVERFLOW_TOTAL (base/env.h), each with the buffers of its handle.
 * When more than half of that is in use, a target also limits each peer: it may
 * then add an eighth of the total, or one payload, so that others still find
 * memory. */
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

/* The memory accounting of a context. */
struct hg_holds {
    _Atomic uint64_t bytes;
    uint64_t total;               /* limit in bytes */
    LIST_HEAD(, hg_share) shares; /* under lock */
    struct base_lock *lock;
    _Atomic uint64_t *refused; /* counts refused payloads */
    unsigned context_id;       /* for the log */
};

/* One accounted payload. */
struct hg_hold {
    uint64_t bytes;         /* 0: not accounted */
    struct hg_share *share; /* of the peer, or NULL */
};

/* lock, refused: must outlive the holds. */
void hg_holds_init(struct hg_holds *holds, uint64_t total,
    struct base_lock *lock, _Atomic uint64_t *refused, unsigned context_id);

/* Accounts a payload of size bytes, and `beside` bytes of its handle. peer: the
 * origin that requested it; NULL: a request of this process. MSGSIZE: larger
 * than the total; AGAIN: larger than what is left; NOMEM. The first two are
 * counted and logged. [any thread] */
hg_return_t hg_hold_take(struct hg_hold *hold, struct hg_holds *holds,
    const struct hg_addr *peer, size_t size, size_t beside);

/* Ends the accounting of a payload. May be called again. [any thread] */
void hg_hold_release(struct hg_hold *hold, struct hg_holds *holds);

/* Counts a refused payload, and logs some of them. Returns ret. */
hg_return_t hg_hold_refuse(
    struct hg_holds *holds, hg_return_t ret, uint64_t size, uint64_t limit);

#endif /* HG_HOLD_H */
