/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whether a wait spins before it sleeps, by measuring which of the two
 * modes has shorter waits and more frequent events.
 *
 * Spinning saves the cost of a wake-up while there is a processor for each
 * thread. Otherwise it uses the processor that the peer or the caller needs.
 * How much that costs depends on the scheduler, the threads of all processes
 * and other load, so it is measured. The other mode is tried from time to time,
 * for a few waits, and no longer than as many waits take in the current mode.
 * Waits that spinning keeps shorter than a wake-up try nothing.
 *
 * On an oversubscribed machine, with more runnable threads than processors,
 * spinning also keeps its processor from becoming idle, and only an idle
 * processor takes over a thread that waits for another one. So a wait that has
 * spun for some microseconds checks for that now and then; while it is so, waits
 * sleep at once.
 *
 * A program that polls in a loop without waiting spins itself. Such polls yield
 * the processor about every microsecond while they find nothing. How many polls
 * that are depends on the program's loop: two at least. One that does something
 * else in between yields seldom.
 */
#ifndef NA_SPIN_H
#define NA_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct na_spin {
    bool sleeps;              /* the mode: sleeps at once, without spinning */
    bool trial;               /* this mode is on trial */
    uint32_t count;           /* waits since the mode or its trial began */
    uint32_t events;          /* events of all polls; wraps around */
    uint32_t begin_events;    /* their number then */
    uint64_t sum_ns;          /* total time of the waits */
    uint64_t start_ns;        /* when the first one began; 0: none yet */
    uint64_t wait_ns;         /* mean of a wait in the other mode */
    uint64_t event_ns;        /* mean time between events in the other mode */
    uint64_t period_ns;       /* time before the other mode is tried */
    uint64_t sleep_period_ns; /* period_ns when sleeping is preferred again */
    uint32_t idle_events;     /* value of events at the first empty poll */
    uint32_t idle_polls;      /* empty polls since then, or since a yield */
    uint32_t yield_polls;     /* empty polls until the next yield */
    uint32_t pace_events;     /* value of events at the last call */
    _Atomic uint64_t pace_ns; /* when that was, or its yield ended; 0: never */
    uint64_t poll_ns;         /* time from one empty poll to the next */
    bool oversubscribed;      /* what the last look has found */
    uint32_t look_waits;      /* waits until the next look */
    uint32_t look_period;     /* and from then to the one after it */
};

void na_spin_init(struct na_spin *spin);

static inline void
na_spin_count(struct na_spin *spin, uint32_t events)
{
    spin->events += events;
}

/* Time that a wait may spin before it checks whether the machine is
 * oversubscribed, in nanoseconds. */
#define NA_SPIN_SHORT_NS 5000U

/* Returns whether the machine is oversubscribed. Looks now and then. */
bool na_spin_is_oversubscribed(struct na_spin *spin);

/* In the mode that spins: returns whether a wait that has spun for spun_ns may
 * poll again before it sleeps. */
static inline bool
na_spin_goes_on(struct na_spin *spin, uint64_t spun_ns)
{
    if (spun_ns < NA_SPIN_SHORT_NS && !spin->oversubscribed)
        return true;
    return !na_spin_is_oversubscribed(spin);
}

/* Returns whether waits sleep at once, although an event may come soon. */
static inline bool
na_spin_is_avoided(const struct na_spin *spin)
{
    return spin->sleeps || spin->oversubscribed;
}

/* A wait has ended with an event after waited_ns. Its events are counted
 * already. */
void na_spin_learn(struct na_spin *spin, uint64_t waited_ns, uint64_t now);

/* A poll without waiting found nothing. Returns whether its thread may yield now:
 * after a number of such polls in a row. The caller then calls na_spin_pace. */
bool na_spin_yields(struct na_spin *spin);

/* Adapts that number to the time that the polls since the last yield have taken. */
void na_spin_pace(struct na_spin *spin, uint64_t now);

/* The yield after na_spin_pace(spin, then) has ended now. It counts unless another
 * thread has polled meanwhile. Needs no lock. */
static inline void
na_spin_yielded(struct na_spin *spin, uint64_t then, uint64_t now)
{
    atomic_compare_exchange_strong_explicit(
        &spin->pace_ns, &then, now, memory_order_relaxed, memory_order_relaxed);
}

#endif /* NA_SPIN_H */
