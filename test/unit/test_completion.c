/* SPDX-License-Identifier: BSD-3-Clause */
/* The completion queue between progress and trigger: order, counts, deadlines,
 * several threads. */
#include "base/completion.h"
#include "base/time.h"

#include "log_watch.h"
#include "runner.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define ENTRIES 20000U /* entries per producer */
#define PRODUCERS 2U
#define CONSUMERS 3U
#define LATE_MS 20000U /* limit for an expected entry */

struct entry {
    struct base_completion completion;
    _Atomic uint32_t runs;
    uint32_t number;
};

static struct base_completion_queue queue;
static struct entry entries[PRODUCERS * ENTRIES];

/* Entries that ran, in order. */
static uint32_t ran[16];
static uint32_t ran_count;

/* Failures found by threads, which cannot fail the test themselves. */
static _Atomic uint32_t faults;

static void
fault_unless(bool condition)
{
    if (!condition)
        atomic_fetch_add_explicit(&faults, 1, memory_order_relaxed);
}

static void
note(struct base_completion *completion)
{
    ran[ran_count++] = ((struct entry *) completion)->number;
}

static void
push(uint32_t number)
{
    entries[number].number = number;
    entries[number].completion.run = note;
    base_completion_push(&entries[number].completion, &queue);
}

static void
begin(void)
{
    log_watch_begin();
    log_watch_install();
    base_completion_queue_init(&queue, false);
}

static pthread_t
start(void *(*body)(void *), void *arg)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, body, arg), 0);
    return thread;
}

/* Waits until this many threads wait for the queue's signal. */
static void
await_waiters(uint32_t count)
{
    uint64_t deadline = base_time_deadline(LATE_MS);
    uint32_t waiters;

    do {
        base_lock_acquire(&queue.lock);
        waiters = queue.filled.waiters;
        base_lock_release(&queue.lock);
        sched_yield();
    } while (waiters < count && base_time_left(deadline) > 0);
    ck_assert_uint_eq(waiters, count);
}

START_TEST(trigger_runs_in_order_of_push)
{
    for (uint32_t i = 0; i < 5; i++)
        push(i);
    ck_assert_uint_eq(base_completion_count(&queue), 5);
    ck_assert_uint_eq(base_completion_trigger(&queue, 0, 16), 5);
    ck_assert_uint_eq(ran_count, 5);
    for (uint32_t i = 0; i < 5; i++)
        ck_assert_uint_eq(ran[i], i);
    ck_assert_uint_eq(base_completion_count(&queue), 0);
}
END_TEST

START_TEST(trigger_max_count_runs_no_more)
{
    for (uint32_t i = 0; i < 5; i++)
        push(i);
    ck_assert_uint_eq(base_completion_trigger(&queue, 0, 0), 0);
    ck_assert_uint_eq(ran_count, 0);
    ck_assert_uint_eq(base_completion_trigger(&queue, 0, 1), 1);
    ck_assert_uint_eq(ran_count, 1);
    ck_assert_uint_eq(base_completion_trigger(&queue, 0, 2), 2);
    ck_assert_uint_eq(ran_count, 3);
    ck_assert_uint_eq(base_completion_count(&queue), 2);
    ck_assert_uint_eq(base_completion_trigger(&queue, 0, 3), 2);
    ck_assert_uint_eq(ran[4], 4);
}
END_TEST

START_TEST(trigger_max_count_zero_does_not_wait)
{
    ck_assert_uint_eq(base_completion_trigger(&queue, BASE_TIME_NEVER, 0), 0);
}
END_TEST

START_TEST(trigger_empty_without_deadline_returns_at_once)
{
    ck_assert_uint_eq(base_completion_trigger(&queue, 0, 1), 0);
    ck_assert_uint_eq(base_completion_trigger(&queue, 0, 16), 0);
    ck_assert_uint_eq(base_completion_trigger(&queue, base_time_now(), 1), 0);
}
END_TEST

START_TEST(trigger_empty_waits_out_its_deadline)
{
    uint64_t deadline = base_time_deadline(20);

    ck_assert_uint_eq(base_completion_trigger(&queue, deadline, 1), 0);
    ck_assert_uint_eq(base_time_left(deadline), 0);
    deadline = base_time_deadline(20);
    ck_assert(!base_completion_wait(&queue, deadline));
    ck_assert_uint_eq(base_time_left(deadline), 0);
    ck_assert_uint_eq(queue.filled.waiters, 0);
}
END_TEST

static void
push_another(struct base_completion *completion)
{
    note(completion);
    push(((struct entry *) completion)->number + 1);
}

START_TEST(trigger_pushed_by_callback_runs_behind_others)
{
    push(0);
    push(7);
    entries[0].completion.run = push_another;
    ck_assert_uint_eq(base_completion_trigger(&queue, 0, 2), 2);
    ck_assert_uint_eq(ran[1], 7);
    ck_assert_uint_eq(base_completion_count(&queue), 1);
    ck_assert_uint_eq(base_completion_trigger(&queue, 0, 2), 1);
    ck_assert_uint_eq(ran[2], 1);
}
END_TEST

static void
free_entry(struct base_completion *completion)
{
    ran_count++;
    free(completion);
}

START_TEST(trigger_callback_may_free_entry)
{
    for (int i = 0; i < 3; i++) {
        struct base_completion *completion = malloc(sizeof *completion);

        ck_assert_ptr_nonnull(completion);
        completion->run = free_entry;
        base_completion_push(completion, &queue);
    }
    ck_assert_uint_eq(base_completion_trigger(&queue, 0, 16), 3);
    ck_assert_uint_eq(ran_count, 3);
}
END_TEST

START_TEST(wait_filled_leaves_entry_in_place)
{
    push(0);
    ck_assert(base_completion_wait(&queue, 0));
    ck_assert(base_completion_wait(&queue, BASE_TIME_NEVER));
    ck_assert_uint_eq(base_completion_count(&queue), 1);
    ck_assert_uint_eq(ran_count, 0);
}
END_TEST

static void *
push_when_awaited(void *arg)
{
    await_waiters(1);
    push(3);
    return NULL;
}

START_TEST(trigger_waiting_runs_what_another_thread_pushes)
{
    uint64_t deadline = base_time_deadline(LATE_MS);
    pthread_t thread = start(push_when_awaited, NULL);

    ck_assert_uint_eq(base_completion_trigger(&queue, deadline, 16), 1);
    ck_assert_uint_gt(base_time_left(deadline), 0);
    ck_assert_uint_eq(ran[0], 3);
    pthread_join(thread, NULL);

    thread = start(push_when_awaited, NULL);
    ck_assert(base_completion_wait(&queue, BASE_TIME_NEVER));
    ck_assert_uint_eq(base_completion_count(&queue), 1);
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(trigger_single_thread_does_not_wait)
{
    base_completion_queue_init(&queue, true);
    ck_assert_uint_eq(base_completion_trigger(&queue, BASE_TIME_NEVER, 1), 0);
    ck_assert(!base_completion_wait(&queue, BASE_TIME_NEVER));
    for (uint32_t i = 0; i < 3; i++)
        push(i);
    ck_assert(base_completion_wait(&queue, BASE_TIME_NEVER));
    ck_assert_uint_eq(base_completion_trigger(&queue, BASE_TIME_NEVER, 2), 2);
    ck_assert_uint_eq(base_completion_trigger(&queue, BASE_TIME_NEVER, 2), 1);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_uint_eq(ran[i], i);
}
END_TEST

/* Consumers run entries until they get one that ends them. */
static _Thread_local bool ended;
static _Atomic uint32_t ended_count;

static void
end_thread(struct base_completion *completion)
{
    ended = true;
}

static void
count_run(struct base_completion *completion)
{
    struct entry *entry = (struct entry *) completion;

    atomic_fetch_add_explicit(&entry->runs, 1, memory_order_relaxed);
}

static void *
produce(void *arg)
{
    struct entry *first = arg;

    for (uint32_t i = 0; i < ENTRIES; i++) {
        first[i].completion.run = count_run;
        base_completion_push(&first[i].completion, &queue);
    }
    return NULL;
}

/* A timeout is correct only if no entry arrived in time. */
static void *
consume(void *arg)
{
    const uint32_t *max_count = arg;
    uint64_t deadline = base_time_deadline(LATE_MS);

    while (!ended && base_time_left(deadline) > 0) {
        uint32_t count = base_completion_trigger(&queue, deadline, *max_count);

        fault_unless(count > 0 && count <= *max_count);
    }
    fault_unless(ended);
    atomic_fetch_add_explicit(&ended_count, 1, memory_order_relaxed);
    return NULL;
}

/* One at a time: a consumer that may run several entries would take those that
 * end the others. */
static void
finish_consumers(const pthread_t *consumers)
{
    uint64_t deadline = base_time_deadline(LATE_MS);
    struct base_completion ends[CONSUMERS];

    for (uint32_t i = 0; i < CONSUMERS; i++) {
        ends[i].run = end_thread;
        base_completion_push(&ends[i], &queue);
        while (ended_count <= i && base_time_left(deadline) > 0)
            sched_yield();
    }
    for (uint32_t i = 0; i < CONSUMERS; i++)
        pthread_join(consumers[i], NULL);
    ck_assert_uint_eq(faults, 0);
    ck_assert_uint_eq(base_completion_count(&queue), 0);
}

START_TEST(trigger_in_several_threads_runs_each_entry_once)
{
    static uint32_t max_counts[CONSUMERS] = {1, 3, 16};
    pthread_t producers[PRODUCERS], consumers[CONSUMERS];

    for (uint32_t i = 0; i < CONSUMERS; i++)
        consumers[i] = start(consume, &max_counts[i]);
    for (uint32_t i = 0; i < PRODUCERS; i++)
        producers[i] = start(produce, &entries[i * ENTRIES]);
    for (uint32_t i = 0; i < PRODUCERS; i++)
        pthread_join(producers[i], NULL);
    finish_consumers(consumers);
    for (uint32_t i = 0; i < PRODUCERS * ENTRIES; i++)
        ck_assert_uint_eq(entries[i].runs, 1);
}
END_TEST

/* One entry wakes all waiting threads, and one of them gets it: the others keep
 * waiting. */
START_TEST(trigger_waits_on_when_another_takes_the_entry)
{
    static uint32_t max_counts[CONSUMERS] = {1, 1, 1};
    uint64_t deadline = base_time_deadline(LATE_MS);
    pthread_t consumers[CONSUMERS];

    for (uint32_t i = 0; i < CONSUMERS; i++)
        consumers[i] = start(consume, &max_counts[i]);
    for (uint32_t i = 0; i < ENTRIES / 4; i++) {
        entries[i].completion.run = count_run;
        base_completion_push(&entries[i].completion, &queue);
        while (entries[i].runs == 0 && base_time_left(deadline) > 0)
            sched_yield();
        ck_assert_uint_eq(entries[i].runs, 1);
    }
    finish_consumers(consumers);
}
END_TEST

static void *
wait_for_entry(void *arg)
{
    bool *filled = arg;

    *filled = base_completion_wait(&queue, base_time_deadline(LATE_MS));
    return NULL;
}

static void *
push_first(void *arg)
{
    push(0);
    return arg;
}

/* A thread pushes while the lock is held and another thread waits for an
 * entry. */
START_TEST(push_that_has_to_wait_wakes_waiting_consumer)
{
    uint64_t deadline = base_time_deadline(LATE_MS);
    pthread_t waiting, pushing;
    bool filled = false, waits = false;

    waiting = start(wait_for_entry, &filled);
    while (!waits && base_time_left(deadline) > 0) {
        base_lock_acquire(&queue.lock);
        waits = queue.filled.waiters > 0;
        if (!waits)
            base_lock_release(&queue.lock);
        sched_yield();
    }
    ck_assert(waits);
    pushing = start(push_first, NULL);
    while (atomic_load(&queue.lock.state) != BASE_LOCK_WAITED_FOR &&
           base_time_left(deadline) > 0)
        sched_yield();
    base_lock_release(&queue.lock);
    pthread_join(pushing, NULL);
    pthread_join(waiting, NULL);
    ck_assert(filled);
    ck_assert_msg(base_time_left(deadline) > 0,
        "there was an entry, but the thread that waited for it slept on");
    ck_assert_uint_eq(base_completion_trigger(&queue, 0, 1), 1);
}
END_TEST

static bool
is_second(const struct base_completion *completion)
{
    return completion == &entries[1].completion;
}

START_TEST(take_keeps_the_remaining_count)
{
    for (uint32_t i = 0; i < 3; i++)
        push(i);
    ck_assert_ptr_eq(
        base_completion_take(&queue, is_second), &entries[1].completion);
    ck_assert_uint_eq(base_completion_count(&queue), 2);
    ck_assert_ptr_null(base_completion_take(&queue, is_second));
    ck_assert_uint_eq(base_completion_count(&queue), 2);
    ck_assert_uint_eq(base_completion_trigger(&queue, 0, 16), 2);
    ck_assert_uint_eq(ran[0], 0);
    ck_assert_uint_eq(ran[1], 2);
    ck_assert_uint_eq(base_completion_count(&queue), 0);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("completion");

    tcase_add_checked_fixture(tcase, begin, log_watch_check);
    tcase_add_test(tcase, trigger_runs_in_order_of_push);
    tcase_add_test(tcase, trigger_max_count_runs_no_more);
    tcase_add_test(tcase, trigger_max_count_zero_does_not_wait);
    tcase_add_test(tcase, trigger_empty_without_deadline_returns_at_once);
    tcase_add_test(tcase, trigger_empty_waits_out_its_deadline);
    tcase_add_test(tcase, trigger_pushed_by_callback_runs_behind_others);
    tcase_add_test(tcase, trigger_callback_may_free_entry);
    tcase_add_test(tcase, wait_filled_leaves_entry_in_place);
    tcase_add_test(tcase, trigger_waiting_runs_what_another_thread_pushes);
    tcase_add_test(tcase, trigger_single_thread_does_not_wait);
    tcase_add_test(tcase, trigger_in_several_threads_runs_each_entry_once);
    tcase_add_test(tcase, trigger_waits_on_when_another_takes_the_entry);
    tcase_add_test(tcase, push_that_has_to_wait_wakes_waiting_consumer);
    tcase_add_test(tcase, take_keeps_the_remaining_count);
    return run_tcase("completion", tcase);
}
