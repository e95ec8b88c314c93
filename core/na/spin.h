/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a wait spins before it sleeps: whichever of the two has made waits
 * shorter, and events more frequent, lately.
 *
 * Spinning saves the cost of a wake-up while there is a processor for each
 * thread. Where there is none, it holds the processor that the peer or the
 * caller needs, and how much that costs depends on the scheduler, on the threads
 * of all processes and on what else runs: it can be measured, not computed. So
 * each way is tried now and then, for a few waits, and for no longer than the
 * same number of waits takes the other way. Waits that spinning keeps shorter
 * than a wake-up try nothing else.
 *
 * A program that polls in a loop without waiting spins as well, and decides itself
 * for how long: it yields.
 */
#ifndef NA_SPIN_H
#define NA_SPIN_H

#include <stdbool.h>
#include <stdint.h>

struct na_spin {
    bool sleeps;        /* at once, without spinning */
    bool trial;         /* of this way, against the other's means */
    uint32_t count;     /* waits since this way was taken, or its last trial */
    uint32_t events;    /* since then, also of polls that did not wait */
    uint64_t sum_ns;    /* what the waits took together */
    uint64_t start_ns;  /* when they began; 0: they have not */
    uint64_t wait_ns;   /* the other way's means: of a wait, */
    uint64_t event_ns;  /* from one event to the next */
    uint64_t period_ns; /* waiting before the other way is tried */
    uint64_t sleep_period_ns; /* likewise, when sleeping is next preferred */
    uint32_t idle_events;     /* events, when polls began to find nothing */
    uint32_t idle_polls;      /* since then, or since the last yield */
    uint32_t yield_polls;     /* so many until the next */
};

void na_spin_init(struct na_spin *spin);

static inline void
na_spin_count(struct na_spin *spin, uint32_t events)
{
    spin->events += events;
}

/* A wait has ended now with something to do, after so long; its events are
 * counted. */
void na_spin_learn(struct na_spin *spin, uint64_t waited_ns, uint64_t now);

/* A poll without waiting has found nothing. Whether its thread yields the
 * processor now: after some such polls in a row, then less and less often. */
bool na_spin_yields(struct na_spin *spin);

#endif /* NA_SPIN_H */
