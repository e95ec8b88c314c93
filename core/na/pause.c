/* SPDX-License-Identifier: BSD-3-Clause */
/* Pauses in the yields of polls. */
#include "na/pause.h"

#include "na/load.h"

/* Time in which events are counted: some time slices. */
#define WINDOW_NS 32000000U

/* Longer than a tick of Linux (4 ms at 250 Hz). At a tick an idle processor takes
 * over a thread that has not run for 0.5 ms (sched_migration_cost_ns). */
#define PAUSE_NS 5000000U

/* With fewer events in a window a pause costs more than it can save. */
#define EVENTS_MIN 200U

/* Time between pauses, doubled after each one that has not helped. */
#define PERIOD_MIN_NS WINDOW_NS
#define PERIOD_MAX_NS (32 * (uint64_t) WINDOW_NS)

void
na_pause_init(struct na_pause *pause)
{
    *pause = (struct na_pause){.period_ns = PERIOD_MIN_NS};
}

static void
begin_window(struct na_pause *pause, uint32_t events, bool shared, uint64_t now)
{
    pause->start_ns = now;
    pause->events = events;
    pause->shared = shared;
    pause->burst = 0;
}

/* Decides from the first window after a pause when the next one may be. */
static void
judge(struct na_pause *pause, uint64_t event_ns)
{
    if (event_ns <= pause->event_ns / 3 * 2)
        pause->period_ns = PERIOD_MIN_NS;
    else if (pause->period_ns < PERIOD_MAX_NS)
        pause->period_ns *= 2;
}

/* Returns whether a pause may help after a window with count events. */
static bool
may_help(const struct na_pause *pause, uint32_t count, uint64_t now)
{
    long processors;

    if (!pause->shared || count < EVENTS_MIN ||
        now - pause->until_ns < pause->period_ns)
        return false;
    processors = na_load_allowed();
    return processors > 1 && (long) pause->burst <= processors;
}

bool
na_pause_lasts(
    struct na_pause *pause, uint32_t events, bool shared, uint64_t now)
{
    uint64_t took = now - pause->start_ns, event_ns;
    uint32_t burst = events - pause->last_events;
    uint32_t count = events - pause->events;

    pause->last_events = events;
    if (now < pause->until_ns)
        return true;
    if (pause->start_ns < pause->until_ns) {
        begin_window(pause, events, shared, now); /* the pause is over */
        pause->judging = true;
        return false;
    }
    if (burst > pause->burst)
        pause->burst = burst;
    if (took < WINDOW_NS)
        return false;
    /* A much longer window has seen idle times, and tells nothing. */
    if (took < 2 * (uint64_t) WINDOW_NS) {
        event_ns = took / (count > 0 ? count : 1);
        if (pause->judging)
            judge(pause, event_ns);
        if (shared && may_help(pause, count, now)) {
            pause->event_ns = event_ns;
            pause->until_ns = now + PAUSE_NS;
        }
    }
    pause->judging = false;
    begin_window(pause, events, shared, now);
    return now < pause->until_ns;
}
