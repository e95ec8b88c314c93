/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whether a thread that polls in vain yields its processor, by measuring
 * whether events are more frequent with yields or without.
 *
 * A yield is cheap where the other threads of the processor run briefly, and
 * then it lets the peer answer. It costs a time slice where one of them spins
 * without ever yielding. While yields cost more than half of the time, the other
 * mode is tried for some milliseconds, and kept if events become more frequent
 * by a third. Yields are tried again from time to time, and are preferred if it
 * makes no difference: two threads that both stopped yielding to each other
 * would never notice what that costs.
 *
 * A yield is useless where no other thread wants the processor: a system call
 * that delays the next poll. After 512 in a row only few are made, until one has
 * let another thread run. A yield that takes no longer than such a call counts as
 * useless; the kernel's count of switches decides about the last ones before they
 * become rare, and then about each. One of 512 that is useful is reason enough to
 * go on: a thread that answers may want the processor for a part of the time only.
 */
#ifndef NA_YIELD_H
#define NA_YIELD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct na_yield {
    _Atomic uint64_t lost_ns; /* in costly yields since the window began */
    bool off;                 /* the mode: no yields */
    bool trial;               /* this mode is on trial */
    uint32_t events;          /* of all polls when the window began */
    uint64_t start_ns;        /* when the window began; 0: none yet */
    uint64_t event_ns;        /* mean time between events in the other mode */
    uint32_t wait;            /* windows until the other mode may be tried */
    uint32_t period;          /* value of wait after the next failed trial */
    _Atomic uint32_t useless; /* useless yields in a row */
    uint64_t last_ns;         /* when the last yield was permitted */
};

void na_yield_init(struct na_yield *yield);

/* A thread wants to yield: returns whether it may. events: of all polls so far.
 * now: base/time.h. Called under the lock of progress. */
bool na_yield_may(struct na_yield *yield, uint32_t events, uint64_t now);

/* Returns whether another thread has run during one of the last 64 yields, or there
 * were not as many; false while the mode is without yields, or on trial. Called
 * under the lock of progress. */
static inline bool
na_yield_is_shared(const struct na_yield *yield)
{
    return !yield->off && !yield->trial &&
           atomic_load_explicit(&yield->useless, memory_order_relaxed) < 64;
}

/* Yields the processor, and notes what that cost. Returns when it has ended, as
 * base/time.h. Needs no lock. */
uint64_t na_yield_now(struct na_yield *yield);

/* Notes whether another thread seems to have run during a yield. Needs no lock. */
void na_yield_note(struct na_yield *yield, bool switched);

/* A yield took took_ns while runnable threads, this one included, shared the
 * processors; 0 threads: not known. Returns whether another thread has used up a
 * time slice meanwhile. */
bool na_yield_is_costly(uint64_t took_ns, long runnable, long processors);

#endif /* NA_YIELD_H */
