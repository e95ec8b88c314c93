/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a wait spins before it sleeps: whichever of the two has made waits
 * shorter lately.
 *
 * Spinning saves the cost of a wake-up while there is a processor for each
 * thread. Where there is none, it holds the processor that the peer or the
 * caller needs, and how much that costs depends on the scheduler, on the threads
 * of all processes and on what else runs: it can be measured, not computed. So
 * each way is tried now and then, for a few waits, and for no longer than the
 * same number of waits takes the other way. Waits that spinning keeps shorter
 * than a wake-up try nothing else.
 */
#ifndef NA_SPIN_H
#define NA_SPIN_H

#include <stdbool.h>
#include <stdint.h>

struct na_spin {
    bool sleeps;     /* at once, without spinning */
    bool trial;      /* of this way, against mean_ns of the other */
    uint32_t count;  /* waits since this way was taken, or its last trial */
    uint64_t sum_ns; /* what they took together */
    uint64_t mean_ns;
    uint64_t period_ns; /* waiting in this way before the other is tried */
    uint64_t sleep_period_ns; /* likewise, when sleeping is next preferred */
};

void na_spin_init(struct na_spin *spin);

/* A wait has ended with something to do, after so long. */
void na_spin_learn(struct na_spin *spin, uint64_t waited_ns);

#endif /* NA_SPIN_H */
