/* SPDX-License-Identifier: BSD-3-Clause */
/* Short records sent lately, whose lines are still to be demoted (sm_ring_demote). The
 * next locked instruction waits until that is done. A poll demotes the lines of all
 * sends before it, and so waits once; each send would wait for its own. */
#ifndef SM_WRITTEN_H
#define SM_WRITTEN_H

#include <stdatomic.h>
#include <stdint.h>

#include "ring.h"

#define SM_WRITTEN 32U

/* Of a context. As a rule one thread uses it, which polls the context; while another
 * takes over, records may get lost, or a ring is gone: that costs some speed. */
struct sm_written {
    _Atomic uint32_t count;
    _Atomic uintptr_t ends[SM_WRITTEN];
};

/* Adds the two lines before end, unless there is no room. */
static inline __attribute__((always_inline)) void
sm_written_add(struct sm_written *written, const unsigned char *end)
{
    uint32_t count =
        atomic_load_explicit(&written->count, memory_order_relaxed);

    if (count >= SM_WRITTEN)
        return;
    atomic_store_explicit(
        &written->ends[count], (uintptr_t) end, memory_order_relaxed);
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
        sm_ring_demote(atomic_load_explicit(
            &written->ends[--count], memory_order_relaxed));
    } while (__builtin_expect(count != 0, 0));
    atomic_store_explicit(&written->count, 0, memory_order_relaxed);
}

#endif /* SM_WRITTEN_H */
