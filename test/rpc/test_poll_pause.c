/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that polls without waiting: it yields, but not during a pause of
 * na/pause.h. */
#include "base/time.h"
#include "counts.h"
#include "hg/context.h"
#include "rpcs.h"

static uint32_t yields;

int __real_sched_yield(void);
int __wrap_sched_yield(void);

int
__wrap_sched_yield(void)
{
    yields++;
    return __real_sched_yield();
}

static const struct session_setup setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};

/* Polls in vain. Returns how often that has yielded. */
static uint32_t
poll_in_vain(struct session *s)
{
    uint32_t before = yields;

    /* whatever else runs on the processor */
    na_yield_init(&hg_context_na(s->context)->progress->yield);
    for (unsigned i = 0; i < 10000; i++)
        ck_assert_int_eq(HG_Progress(s->context, 0), HG_TIMEOUT);
    return yields - before;
}

START_TEST(polls_yield_unless_paused)
{
    struct session s;
    struct na_pause *pause;

    session_begin(&s, 0, &setup);
    session_drain(s.context);
    pause = &hg_context_na(s.context)->progress->pause;
    ck_assert_uint_gt(poll_in_vain(&s), 0);
    pause->until_ns = base_time_deadline(test_count(TEST_WAIT_MS));
    ck_assert_uint_eq(poll_in_vain(&s), 0);
    pause->until_ns = base_time_now();
    ck_assert_uint_gt(poll_in_vain(&s), 0);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, polls_yield_unless_paused);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "poll_pause", add);
}
