/* SPDX-License-Identifier: BSD-3-Clause */
/* The mutex: exclusion, threads that sleep for it, and polls that give way. */
#include "common/mutex.h"
#include "runner.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4U
#define ROUNDS 20000U
#define POLLS 50U
#define HELD_US 200000 /* long enough for others to fall asleep */

static struct tp_mutex mutex;
static uint64_t shared;
static _Atomic uint32_t arrived;

static void
start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    ck_assert_int_eq(pthread_create(thread, NULL, run, arg), 0);
}

static void *
add(void *arg)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (i % 2 == 0)
            while (!tp_mutex_try_politely(&mutex))
                ;
        else
            tp_mutex_take(&mutex);
        uint64_t seen = shared;
        if (i % 64 == 0)
            sched_yield();
        shared = seen + 1;
        tp_mutex_drop(&mutex);
    }
    return arg;
}

START_TEST(mutex_excludes_other_threads)
{
    pthread_t threads[THREADS];

    tp_mutex_init(&mutex, false);
    shared = 0;
    for (uint32_t i = 0; i < THREADS; i++)
        start(&threads[i], add, NULL);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(shared, (uint64_t) THREADS * ROUNDS);
    ck_assert_uint_eq(atomic_load(&mutex.spinning), 0);
    ck_assert_uint_ne(atomic_load(&mutex.state), TP_MUTEX_HELD);
    ck_assert(tp_mutex_try(&mutex));
    tp_mutex_drop(&mutex);
}
END_TEST

START_TEST(try_fails_while_held_unless_disabled)
{
    tp_mutex_init(&mutex, false);
    ck_assert(tp_mutex_try(&mutex));
    ck_assert(!tp_mutex_try(&mutex));
    ck_assert(!tp_mutex_try_politely(&mutex));
    tp_mutex_drop(&mutex);
    ck_assert(tp_mutex_try_politely(&mutex));
    tp_mutex_drop(&mutex);
    tp_mutex_init(&mutex, true);
    tp_mutex_take(&mutex);
    ck_assert(tp_mutex_try(&mutex));
    ck_assert(tp_mutex_try_politely(&mutex));
    tp_mutex_drop(&mutex);
    ck_assert_uint_eq(sizeof(mutex), 8);
}
END_TEST

static uint64_t
thread_us(void)
{
    struct rusage usage;

    getrusage(RUSAGE_THREAD, &usage);
    return ((uint64_t) usage.ru_utime.tv_sec +
               (uint64_t) usage.ru_stime.tv_sec) *
               1000000 +
           (uint64_t) usage.ru_utime.tv_usec +
           (uint64_t) usage.ru_stime.tv_usec;
}

/* Takes the mutex once. Returns by *arg the processor time that it used. */
static void *
take_once(void *arg)
{
    uint64_t *used_us = arg;
    uint64_t before = thread_us();

    atomic_fetch_add(&arrived, 1);
    tp_mutex_take(&mutex);
    shared++;
    tp_mutex_drop(&mutex);
    *used_us = thread_us() - before;
    return NULL;
}

START_TEST(all_who_wait_sleep_and_get_it)
{
    pthread_t threads[THREADS];
    uint64_t used_us[THREADS];

    tp_mutex_init(&mutex, false);
    shared = 0;
    atomic_store(&arrived, 0);
    tp_mutex_take(&mutex);
    for (uint32_t i = 0; i < THREADS; i++)
        start(&threads[i], take_once, &used_us[i]);
    while (atomic_load(&arrived) < THREADS)
        usleep(1000);
    usleep(HELD_US);
    ck_assert_uint_eq(shared, 0);
    ck_assert_uint_eq(atomic_load(&mutex.spinning), 0);
    tp_mutex_drop(&mutex);
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_uint_lt(used_us[i], HELD_US / 4);
    }
    ck_assert_uint_eq(shared, THREADS);
}
END_TEST

/* The shortest of some times that POLLS polls took, which got the mutex. */
static uint64_t
polls_ns(void)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < 20; i++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        uint32_t taken = 0;
        while (taken < POLLS && tp_mutex_try_politely(&mutex)) {
            tp_mutex_drop(&mutex);
            taken++;
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        ck_assert_uint_eq(taken, POLLS);
        uint64_t ns = (uint64_t) (end.tv_sec - begin.tv_sec) * 1000000000 +
                      (uint64_t) end.tv_nsec - (uint64_t) begin.tv_nsec;
        least = ns < least ? ns : least;
    }
    return least;
}

START_TEST(poll_gives_way_to_threads_that_spin)
{
    tp_mutex_init(&mutex, false);
    uint64_t alone_ns = polls_ns();
    atomic_store(&mutex.spinning, 1); /* one that was preempted */
    ck_assert_uint_gt(polls_ns(), 5 * alone_ns);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("mutex");
    tcase_add_test(cases, mutex_excludes_other_threads);
    tcase_add_test(cases, try_fails_while_held_unless_disabled);
    tcase_add_test(cases, all_who_wait_sleep_and_get_it);
    tcase_add_test(cases, poll_gives_way_to_threads_that_spin);
    return run_tcase("mutex", cases);
}
