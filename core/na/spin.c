/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing waits that spin with waits that sleep. */
#include "na/spin.h"

#include "na/load.h"

#define TRIAL_WAITS 64U
#define PERIOD_WAITS 8U /* minimum waits before a trial */

/* Limit of a wait's time. A longer wait doesn't depend on the mode, or is so
 * bad that more makes no difference. */
#define WAIT_MAX_NS 4000000U

/* Minimum time of a wake-up: while waits with spinning are shorter, sleeping is
 * not tried. */
#define WAKE_NS 10000U

/* Time spent waiting in one mode before the other is tried; doubled after each
 * trial that fails. */
#define PERIOD_MIN_NS 8000000U
#define PERIOD_MAX_NS 128000000U

/* Time from one yield to the next while polls find nothing. A yield takes some
 * 200 ns when no other thread wants the processor. */
#define YIELD_NS 1000U
#define YIELD_POLLS_MIN 2U
#define YIELD_POLLS_MAX 64U

/* A program whose polls are further apart than this does something else in
 * between, and yields after so many of them. */
#define BUSY_NS 5000U
#define BUSY_POLLS 512U

/* Time from one empty poll to the next in a loop that does nothing else, until it
 * is known. */
#define POLL_NS 125U

static uint64_t
doubled(uint64_t period_ns)
{
    return period_ns < PERIOD_MAX_NS / 2 ? period_ns * 2 : PERIOD_MAX_NS;
}

/* Waits from one look to the next: doubled while it finds the same. */
#define LOOK_MIN 16U
#define LOOK_MAX 256U

bool
na_spin_is_oversubscribed(struct na_spin *spin)
{
    bool oversubscribed;

    if (spin->look_waits > 0)
        return spin->oversubscribed;
    oversubscribed = na_load_runnable() > na_load_processors();
    if (oversubscribed != spin->oversubscribed)
        spin->look_period = LOOK_MIN;
    else if (spin->look_period < LOOK_MAX)
        spin->look_period *= 2;
    spin->look_waits = spin->look_period;
    spin->oversubscribed = oversubscribed;
    return oversubscribed;
}

void
na_spin_init(struct na_spin *spin)
{
    *spin = (struct na_spin){.period_ns = PERIOD_MIN_NS,
        .sleep_period_ns = PERIOD_MIN_NS,
        .yield_polls = YIELD_NS / POLL_NS,
        .poll_ns = POLL_NS,
        .look_period = LOOK_MIN};
}

static void
restart(struct na_spin *spin, bool sleeps, bool trial)
{
    spin->sleeps = sleeps;
    spin->trial = trial;
    spin->count = 0;
    spin->begin_events = spin->events;
    spin->sum_ns = 0;
    spin->start_ns = 0;
}

/* Events since the last restart. */
static uint32_t
events_since(const struct na_spin *spin)
{
    return spin->events - spin->begin_events;
}

/* Mean time between them. */
static uint64_t
event_ns(const struct na_spin *spin, uint64_t now)
{
    uint32_t events = events_since(spin);

    return (now - spin->start_ns) / (events > 0 ? events : 1);
}

static __attribute__((noinline)) void
end_period(struct na_spin *spin, uint64_t now)
{
    spin->wait_ns = spin->sum_ns / spin->count;
    spin->event_ns = event_ns(spin, now);
    if (!spin->sleeps && spin->wait_ns < WAKE_NS) {
        spin->period_ns = spin->sleep_period_ns = PERIOD_MIN_NS;
        restart(spin, false, false);
        return;
    }
    restart(spin, !spin->sleeps, true);
}

/* Events count more than waits: a thread that was preempted between two waits
 * waits no longer, and one that wakes late finds something at once. A mode is
 * better if events become more frequent by a third. Otherwise waits decide:
 * sleeping has to halve them, so that a few disturbances don't count for it,
 * spinning has to save a quarter. */
static bool
is_better(const struct na_spin *spin, uint64_t now)
{
    uint64_t wait = spin->sum_ns / spin->count;
    uint64_t event = event_ns(spin, now);

    if (event <= spin->event_ns / 4 * 3)
        return true;
    if (spin->sleeps)
        return wait <= spin->wait_ns / 2 && event <= spin->event_ns;
    return wait <= spin->wait_ns / 4 * 3 && event <= spin->event_ns / 8 * 9;
}

/* If sleeping is preferred again soon, spinning is tried less often. */
static void
prefer(struct na_spin *spin)
{
    spin->period_ns = PERIOD_MIN_NS;
    if (spin->sleeps) {
        spin->period_ns = spin->sleep_period_ns;
        spin->sleep_period_ns = doubled(spin->sleep_period_ns);
    }
    restart(spin, spin->sleeps, false);
}

/* A trial ends when it has taken longer than its events, and as many more as it
 * has waits, would have taken in the other mode. Elapsed time counts, not
 * waiting time: longer waits may come with faster work. */
static __attribute__((noinline)) void
judge(struct na_spin *spin, uint64_t now)
{
    uint64_t events = (uint64_t) events_since(spin) + TRIAL_WAITS;
    bool late = now - spin->start_ns > events * spin->event_ns;

    if (!late && spin->count < TRIAL_WAITS)
        return;
    if (!late && is_better(spin, now)) {
        prefer(spin);
    } else {
        spin->period_ns = doubled(spin->period_ns);
        restart(spin, !spin->sleeps, false);
    }
}

void
na_spin_learn(struct na_spin *spin, uint64_t waited_ns, uint64_t now)
{
    if (spin->look_waits > 0)
        spin->look_waits--;
    if (spin->start_ns == 0)
        spin->start_ns = now - waited_ns;
    spin->sum_ns += waited_ns < WAIT_MAX_NS ? waited_ns : WAIT_MAX_NS;
    spin->count++;
    if (spin->trial)
        judge(spin, now);
    else if (spin->sum_ns >= spin->period_ns && spin->count >= PERIOD_WAITS)
        end_period(spin, now);
}

bool
na_spin_yields(struct na_spin *spin)
{
    if (spin->idle_events != spin->events) {
        spin->idle_events = spin->events;
        spin->idle_polls = 0;
        /* A program that answers does not work between polls now. */
        if (spin->yield_polls > YIELD_POLLS_MAX)
            spin->yield_polls = YIELD_POLLS_MAX;
    }
    if (++spin->idle_polls < spin->yield_polls)
        return false;
    spin->idle_polls = 0;
    return true;
}

/* The time of a poll falls at once, and rises slowly: a thread that was preempted
 * between two polls has not worked. */
static void
note_poll(struct na_spin *spin, uint64_t poll_ns)
{
    spin->poll_ns += spin->poll_ns / 8 + 1;
    if (poll_ns < spin->poll_ns)
        spin->poll_ns = poll_ns > 0 ? poll_ns : 1;
}

static uint32_t
polls_of(uint64_t poll_ns)
{
    uint64_t polls = YIELD_NS / poll_ns;

    if (poll_ns > BUSY_NS)
        return BUSY_POLLS;
    if (polls < YIELD_POLLS_MIN)
        return YIELD_POLLS_MIN;
    return polls < YIELD_POLLS_MAX ? (uint32_t) polls : YIELD_POLLS_MAX;
}

void
na_spin_pace(struct na_spin *spin, uint64_t now)
{
    uint64_t since = atomic_load_explicit(&spin->pace_ns, memory_order_relaxed);

    /* Another thread's yield may have ended after now. */
    if (since != 0 && since < now && spin->pace_events == spin->events) {
        note_poll(spin, (now - since) / spin->yield_polls);
        spin->yield_polls = polls_of(spin->poll_ns);
    }
    spin->pace_events = spin->events;
    atomic_store_explicit(&spin->pace_ns, now, memory_order_relaxed);
}
