/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing polls that yield with polls that don't. */
#include "na/yield.h"

#include "base/time.h"
#include "na/load.h"

#include <sched.h>
#include <sys/resource.h>

/* Time in which events are counted: some time slices. */
#define WINDOW_NS 32000000U

/* Windows between trials, doubled after each one that fails. */
#define PERIOD_MIN 8U
#define PERIOD_MAX 64U

/* Time that another thread runs during a yield if it uses the rest of a time
 * slice, which is 0.7 ms at least with Linux's default settings. */
#define SLICE_NS 250000U

/* Longer than a yield that lets no other thread run, shorter than one that does:
 * that has two context switches. */
#define SWITCH_NS 1000U

/* After so many useless yields in a row, one is made in so much time. */
#define USELESS_MAX 512U
/* The last ones before that are observed: a fast machine may need less than
 * SWITCH_NS for two context switches. */
#define CERTAIN 16U
#define USELESS_NS 500000U

void
na_yield_init(struct na_yield *yield)
{
    *yield = (struct na_yield){.period = PERIOD_MIN};
}

static void
begin_window(struct na_yield *yield, uint32_t events, uint64_t now)
{
    atomic_store_explicit(&yield->lost_ns, 0, memory_order_relaxed);
    yield->events = events;
    yield->start_ns = now;
}

/* Tries the other mode in the next window. */
static void
try_other(struct na_yield *yield, uint64_t event_ns)
{
    yield->event_ns = event_ns;
    yield->off = !yield->off;
    yield->trial = true;
}

/* Ends a trial. Not yielding has to make events more frequent by a third. */
static void
judge(struct na_yield *yield, uint64_t event_ns)
{
    uint64_t on = yield->off ? yield->event_ns : event_ns;
    uint64_t off = yield->off ? event_ns : yield->event_ns;
    bool was_off = !yield->off;

    yield->off = off <= on / 4 * 3;
    yield->trial = false;
    if (yield->off != was_off)
        yield->period = PERIOD_MIN;
    yield->wait = yield->period;
    if (yield->off == was_off && yield->period < PERIOD_MAX)
        yield->period *= 2;
}

static void
end_window(struct na_yield *yield, uint32_t events, uint64_t now)
{
    uint64_t took = now - yield->start_ns;
    uint32_t count = events - yield->events;
    uint64_t event_ns = took / (count > 0 ? count : 1);
    uint64_t lost = atomic_load_explicit(&yield->lost_ns, memory_order_relaxed);

    if (yield->trial)
        judge(yield, event_ns);
    else if (yield->wait > 0)
        yield->wait--;
    else if (yield->off || lost > took / 2)
        try_other(yield, event_ns);
}

static bool
is_useless(const struct na_yield *yield)
{
    return atomic_load_explicit(&yield->useless, memory_order_relaxed) >=
           USELESS_MAX;
}

bool
na_yield_may(struct na_yield *yield, uint32_t events, uint64_t now)
{
    uint64_t took = now - yield->start_ns;

    /* A much longer window has seen idle times, and tells nothing. */
    if (yield->start_ns == 0 || took > 2 * (uint64_t) WINDOW_NS) {
        begin_window(yield, events, now);
    } else if (took >= WINDOW_NS) {
        end_window(yield, events, now);
        begin_window(yield, events, now);
    }
    if (yield->off)
        return false;
    if (is_useless(yield) && now - yield->last_ns < USELESS_NS)
        return false;
    yield->last_ns = now;
    return true;
}

/* Of threads that yield at the same time one may overwrite what another has noted:
 * then yields are rare for some time, or frequent. */
void
na_yield_note(struct na_yield *yield, bool switched)
{
    uint32_t useless =
        atomic_load_explicit(&yield->useless, memory_order_relaxed);

    if (switched)
        useless = 0;
    else if (useless < USELESS_MAX)
        useless++;
    atomic_store_explicit(&yield->useless, useless, memory_order_relaxed);
}

/* How often another thread has run instead of the calling one; 0: not known. */
static long
switches(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return 0;
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* Yields. Returns whether another thread has run meanwhile, or may have. It takes
 * two more system calls to be certain. */
static bool
yield_for_certain(void)
{
    long before = switches(), after;

    sched_yield();
    after = switches();
    return after == 0 || after != before;
}

bool
na_yield_is_costly(uint64_t took_ns, long runnable, long processors)
{
    /* those of this thread's processor */
    long others = (runnable - 1 + processors - 1) / processors;

    return took_ns > SLICE_NS * (uint64_t) (others > 1 ? others : 1);
}

uint64_t
na_yield_now(struct na_yield *yield)
{
    uint64_t before = base_time_now(), after, took;
    bool certain = atomic_load_explicit(&yield->useless,
                       memory_order_relaxed) >= USELESS_MAX - CERTAIN;
    bool switched = false;

    if (certain)
        switched = yield_for_certain();
    else
        sched_yield();
    after = base_time_now();
    took = after - before;
    na_yield_note(yield, certain ? switched : took > SWITCH_NS);
    if (took > SLICE_NS &&
        na_yield_is_costly(took, na_load_runnable(), na_load_processors()))
        atomic_fetch_add_explicit(&yield->lost_ns, took, memory_order_relaxed);
    return after;
}
