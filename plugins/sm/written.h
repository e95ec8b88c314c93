/* SPDX-License-Identifier: BSD-3-Clause */
/* Records sent lately, whose lines are still to be demoted (sm_ring_demote). A locked
 * instruction waits until that is done, and several follow each send: so a poll demotes
 * the lines of all sends before it, at once. */
#ifndef SM_WRITTEN_H
#define SM_WRITTEN_H

#include <stdatomic.h>
#include <stdint.h>

#include "ring.h"

#define SM_WRITTEN 32U

/* Of a context. Only the thread that polls it adds records, but which thread that
 * is may change at any time: a record that gets lost costs some speed, one of a ring
 * that is gone nothing. */
struct sm_written {
    _Atomic uint32_t count;
    _Atomic(const unsigned char *) ends[SM_WRITTEN];
};

/* Adds the two lines before end, unless there is no room. */
static inline __attribute__((always_inline)) void
sm_written_add(struct sm_written *written, const unsigned char *end)
{
    uint32_t count =
        atomic_load_explicit(&written->count, memory_order_relaxed);

    if (count >= SM_WRITTEN)
        return;
    atomic_store_explicit(&written->ends[count], end, memory_order_relaxed);
    atomic_store_explicit(&written->count, count + 1, memory_order_relaxed);
}

/* Demotes them; of a record with an odd number of lines also the line before it, which
 * does no harm. */
static inline __attribute__((always_inline)) void
sm_written_demote(struct sm_written *written)
{
    uint32_t count =
        atomic_load_explicit(&written->count, memory_order_relaxed);

    if (count == 0)
        return;
    do {
        const unsigned char *end =
            atomic_load_explicit(&written->ends[--count], memory_order_relaxed);
        sm_ring_demote(end);
    } while (__builtin_expect(count != 0, 0));
    atomic_store_explicit(&written->count, 0, memory_order_relaxed);
}

#endif /* SM_WRITTEN_H */
