/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing waits that spin with waits that sleep. */
#include "na/spin.h"

#define TRIAL_WAITS 64U
#define PERIOD_WAITS 8U /* the fewest whose mean a trial is compared with */

/* A wait counts as so long at most: what takes longer did not depend on how it
 * was waited for, or is so bad that it need not be told from worse. */
#define WAIT_MAX_NS 4000000U

/* No wake-up is quicker: while spinning takes less, sleeping is not tried. */
#define WAKE_NS 10000U

/* Time spent waiting in one way before the other is tried: doubled each time
 * that it is tried in vain. */
#define PERIOD_MIN_NS 8000000U
#define PERIOD_MAX_NS 128000000U

static uint64_t
doubled(uint64_t period_ns)
{
    return period_ns < PERIOD_MAX_NS / 2 ? period_ns * 2 : PERIOD_MAX_NS;
}

void
na_spin_init(struct na_spin *spin)
{
    *spin = (struct na_spin){
        .period_ns = PERIOD_MIN_NS, .sleep_period_ns = PERIOD_MIN_NS};
}

static void
restart(struct na_spin *spin, bool sleeps, bool trial)
{
    spin->sleeps = sleeps;
    spin->trial = trial;
    spin->count = 0;
    spin->sum_ns = 0;
}

static __attribute__((noinline)) void
end_period(struct na_spin *spin)
{
    spin->mean_ns = spin->sum_ns / spin->count;
    if (!spin->sleeps && spin->mean_ns < WAKE_NS) {
        spin->period_ns = spin->sleep_period_ns = PERIOD_MIN_NS;
        restart(spin, false, false);
        return;
    }
    restart(spin, !spin->sleeps, true);
}

/* This way is the better one. Who comes back to sleeping soon tries spinning
 * less often. */
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

/* To be preferred spinning has to be better by a quarter, and sleeping by half,
 * lest a few hiccups of the machine speak for it. As soon as it cannot be any
 * more the trial ends. */
static __attribute__((noinline)) void
judge(struct na_spin *spin)
{
    uint64_t quarters = spin->sleeps ? 2 : 3;

    if (spin->sum_ns > TRIAL_WAITS * spin->mean_ns / 4 * quarters) {
        spin->period_ns = doubled(spin->period_ns);
        restart(spin, !spin->sleeps, false);
    } else if (spin->count == TRIAL_WAITS) {
        prefer(spin);
    }
}

void
na_spin_learn(struct na_spin *spin, uint64_t waited_ns)
{
    spin->sum_ns += waited_ns < WAIT_MAX_NS ? waited_ns : WAIT_MAX_NS;
    spin->count++;
    if (spin->trial)
        judge(spin);
    else if (spin->sum_ns >= spin->period_ns && spin->count >= PERIOD_WAITS)
        end_period(spin);
}
