/* SPDX-License-Identifier: BSD-3-Clause */
/* The core's lock and signal: single-thread mode, several threads, waits and their
 * ends. */
#include "base/lock.h"
#include "base/time.h"
#include "runner.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 3U
#define ROUNDS 20000U  /* locks of each thread */
#define LATE_MS 20000U /* limit for an expected wake-up */
#define HAND_OVERS 20000U
#define FREED_MS 5000U         /* limit for as many locks that are freed */
#define HAND_OVER_DELAYS 2000U /* different ones, in full fences */
#define SETTLE_NS 20000000     /* all threads wait by then */

static pthread_t
start(void *(*body)(void *), void *arg)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, body, arg), 0);
    return thread;
}

START_TEST(lock_held_cannot_be_taken)
{
    struct base_lock lock;

    base_lock_init(&lock, false);
    ck_assert(base_lock_try(&lock));
    ck_assert(!base_lock_try(&lock));
    base_lock_release(&lock);
    ck_assert(base_lock_try(&lock));
    base_lock_release(&lock);
    ck_assert_uint_eq(lock.state, BASE_LOCK_FREE);
}
END_TEST

START_TEST(lock_of_single_thread_mode_is_not_taken)
{
    struct base_lock lock;

    base_lock_init(&lock, true);
    ck_assert(base_lock_try(&lock));
    ck_assert(base_lock_try(&lock));
    base_lock_acquire(&lock);
    ck_assert_uint_eq(lock.state, BASE_LOCK_FREE);
    base_lock_release(&lock);
    ck_assert_uint_eq(lock.state, BASE_LOCK_FREE);
}
END_TEST

static struct {
    struct base_lock lock;
    struct base_signal signal;
    uint64_t counter; /* under the lock */
    uint32_t woken;   /* likewise */
} shared;

static void *
count_under_lock(void *arg)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        base_lock_acquire(&shared.lock);
        shared.counter++;
        base_lock_release(&shared.lock);
    }
    return NULL;
}

START_TEST(lock_in_several_threads_has_one_holder)
{
    pthread_t threads[THREADS];

    base_lock_init(&shared.lock, false);
    for (uint32_t i = 0; i < THREADS; i++)
        threads[i] = start(count_under_lock, NULL);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(shared.counter, THREADS * ROUNDS);
    ck_assert(base_lock_try(&shared.lock));
}
END_TEST

static struct {
    struct base_lock lock;
    _Atomic uint32_t round; /* the waiting thread takes the lock */
    _Atomic uint32_t taken; /* rounds in which it has */
} handed;

static void *
take_each_round(void *arg)
{
    const uint32_t *rounds = arg;

    for (uint32_t round = 1; round <= *rounds; round++) {
        while (atomic_load(&handed.round) != round)
            sched_yield();
        base_lock_acquire(&handed.lock);
        base_lock_release(&handed.lock);
        atomic_store(&handed.taken, round);
    }
    return NULL;
}

/* Releases a lock at every stage of the first wait for it: that thread gets it,
 * and does not sleep on. */
static void
hand_over(uint32_t rounds)
{
    pthread_t thread = start(take_each_round, &rounds);

    for (uint32_t round = 1; round <= rounds; round++) {
        uint64_t deadline = base_time_deadline(LATE_MS);

        base_lock_init(&handed.lock, false);
        base_lock_acquire(&handed.lock);
        atomic_store(&handed.round, round);
        for (uint32_t i = 0; i < round % HAND_OVER_DELAYS; i++)
            atomic_thread_fence(memory_order_seq_cst);
        base_lock_release(&handed.lock);
        while (
            atomic_load(&handed.taken) != round && base_time_left(deadline) > 0)
            sched_yield();
        ck_assert_uint_gt(base_time_left(deadline), 0);
    }
    pthread_join(thread, NULL);
}

START_TEST(lock_released_while_a_thread_begins_to_wait)
{
    hand_over(HAND_OVERS);
}
END_TEST

static void *
take_handed(void *arg)
{
    base_lock_acquire(&handed.lock);
    atomic_fetch_add(&handed.taken, 1);
    base_lock_release(&handed.lock);
    return arg;
}

static bool
reaches(const _Atomic uint32_t *word, uint32_t value, uint64_t deadline)
{
    while (atomic_load(word) != value && base_time_left(deadline) > 0)
        sched_yield();
    return atomic_load(word) == value;
}

/* The first release of a lock that is waited for may not know it. */
START_TEST(lock_released_unaware_of_several_threads_that_wait)
{
    uint64_t deadline = base_time_deadline(LATE_MS);
    pthread_t threads[THREADS];

    base_lock_init(&handed.lock, false);
    base_lock_acquire(&handed.lock);
    for (uint32_t i = 0; i < THREADS; i++)
        threads[i] = start(take_handed, NULL);
    ck_assert(reaches(&handed.lock.state, BASE_LOCK_WAITED_FOR, deadline));
    ck_assert(handed.lock.contended);
    nanosleep(&(struct timespec){.tv_nsec = SETTLE_NS}, NULL);
    ck_assert(!base_lock_try(&handed.lock));
    ck_assert(reaches(&handed.lock.state, BASE_LOCK_WAITED_FOR, deadline));
    /* as the holder does that looked at `contended` before */
    atomic_store(&handed.lock.state, BASE_LOCK_FREE);
    ck_assert_msg(reaches(&handed.taken, THREADS, deadline),
        "the lock is free, and %u of %u threads sleep", THREADS - handed.taken,
        THREADS);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}
END_TEST

/* A thread that begins to wait hides for a moment that another one sleeps. The
 * lock is released just then. */
START_TEST(lock_released_while_a_sleeping_thread_is_hidden)
{
    uint64_t deadline = base_time_deadline(LATE_MS);
    pthread_t thread;
    uint32_t state;

    base_lock_init(&handed.lock, false);
    atomic_store(&handed.lock.contended, true);
    base_lock_acquire(&handed.lock);
    thread = start(take_handed, NULL);
    ck_assert(reaches(&handed.lock.state, BASE_LOCK_WAITED_FOR, deadline));
    nanosleep(&(struct timespec){.tv_nsec = SETTLE_NS}, NULL);
    state = atomic_exchange(&handed.lock.state, BASE_LOCK_HELD);
    base_lock_release(&handed.lock);
    base_lock_wait(&handed.lock, state);
    base_lock_release(&handed.lock);
    ck_assert(reaches(&handed.taken, 1, deadline));
    pthread_join(thread, NULL);
}
END_TEST

static _Atomic(struct base_lock *) passed;

static struct base_lock *
make_lock(bool contended)
{
    struct base_lock *lock = malloc(sizeof *lock);

    ck_assert_ptr_nonnull(lock);
    base_lock_init(lock, false);
    atomic_store(&lock->contended, contended);
    return lock;
}

static void *
take_and_free_each(void *arg)
{
    struct base_lock *lock;

    for (;;) {
        while (!(lock = atomic_exchange(&passed, NULL)))
            sched_yield();
        if (lock == arg)
            return NULL;
        base_lock_acquire(lock);
        free(lock);
    }
}

/* 0 before a thread has ever waited for the lock, 1 after. Sanitizers see uses
 * of freed memory. */
START_TEST(lock_may_be_freed_by_the_next_holder)
{
    uint64_t deadline = base_time_deadline(FREED_MS);
    struct base_lock last;
    pthread_t thread = start(take_and_free_each, &last);

    for (uint32_t i = 0; i < HAND_OVERS && base_time_left(deadline) > 0; i++) {
        struct base_lock *lock = make_lock(_i == 1);

        base_lock_acquire(lock);
        atomic_store(&passed, lock);
        for (uint32_t j = 0; j < i % HAND_OVER_DELAYS; j++)
            atomic_thread_fence(memory_order_seq_cst);
        base_lock_release(lock);
        while (atomic_load(&passed))
            sched_yield();
    }
    atomic_store(&passed, &last);
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(signal_wait_times_out)
{
    uint64_t deadline = base_time_deadline(20);
    bool in_time = true;

    base_lock_init(&shared.lock, false);
    base_signal_init(&shared.signal);
    base_lock_acquire(&shared.lock);
    /* no thread waits: the signal is not kept */
    base_signal_all(&shared.signal);
    while (in_time)
        in_time = base_signal_wait(&shared.signal, &shared.lock, deadline);
    ck_assert_uint_eq(base_time_left(deadline), 0);
    ck_assert_uint_eq(shared.signal.waiters, 0);
    ck_assert(!base_lock_try(&shared.lock));
    base_lock_release(&shared.lock);
}
END_TEST

static void *
wait_for_counter(void *arg)
{
    uint64_t deadline = base_time_deadline(LATE_MS);
    bool in_time = true;

    base_lock_acquire(&shared.lock);
    while (shared.counter == 0 && in_time)
        in_time = base_signal_wait(&shared.signal, &shared.lock, deadline);
    shared.woken += shared.counter > 0;
    base_lock_release(&shared.lock);
    return NULL;
}

START_TEST(signal_all_wakes_all_waiters)
{
    uint64_t deadline = base_time_deadline(LATE_MS);
    pthread_t threads[THREADS];
    uint32_t waiters = 0;

    base_lock_init(&shared.lock, false);
    base_signal_init(&shared.signal);
    for (uint32_t i = 0; i < THREADS; i++)
        threads[i] = start(wait_for_counter, NULL);
    while (waiters < THREADS && base_time_left(deadline) > 0) {
        base_lock_acquire(&shared.lock);
        waiters = shared.signal.waiters;
        if (waiters == THREADS) {
            shared.counter = 1;
            base_signal_all(&shared.signal);
        }
        base_lock_release(&shared.lock);
        sched_yield();
    }
    ck_assert_uint_eq(waiters, THREADS);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(shared.woken, THREADS);
    ck_assert_uint_eq(shared.signal.waiters, 0);
    ck_assert_uint_gt(base_time_left(deadline), 0);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("lock");

    tcase_add_test(tcase, lock_held_cannot_be_taken);
    tcase_add_test(tcase, lock_of_single_thread_mode_is_not_taken);
    tcase_add_test(tcase, lock_in_several_threads_has_one_holder);
    tcase_add_test(tcase, lock_released_while_a_thread_begins_to_wait);
    tcase_add_test(tcase, lock_released_unaware_of_several_threads_that_wait);
    tcase_add_test(tcase, lock_released_while_a_sleeping_thread_is_hidden);
    tcase_add_loop_test(tcase, lock_may_be_freed_by_the_next_holder, 0, 2);
    tcase_add_test(tcase, signal_wait_times_out);
    tcase_add_test(tcase, signal_all_wakes_all_waiters);
    return run_tcase("lock", tcase);
}
