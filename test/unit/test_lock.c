/* SPDX-License-Identifier: BSD-3-Clause */
/* The core's lock and signal: single-thread mode, several threads, waits and their
 * ends. */
#include "base/lock.h"
#include "base/time.h"
#include "runner.h"

#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 3U
#define ROUNDS 20000U  /* locks of each thread */
#define LATE_MS 20000U /* limit for an expected wake-up */
#define HAND_OVERS 20000U
#define HAND_OVER_DELAYS 2000U /* different ones, in full fences */

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
    ck_assert_uint_eq(lock.held, 0);
}
END_TEST

START_TEST(lock_of_single_thread_mode_is_not_taken)
{
    struct base_lock lock;

    base_lock_init(&lock, true);
    ck_assert(base_lock_try(&lock));
    ck_assert(base_lock_try(&lock));
    base_lock_acquire(&lock);
    ck_assert_uint_eq(lock.held, 0);
    base_lock_release(&lock);
    ck_assert_uint_eq(lock.held, 0);
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

/* As a sandbox may forbid it. */
START_TEST(lock_released_likewise_without_membarrier)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {
        .len = sizeof filter / sizeof filter[0], .filter = filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return; /* a sandbox without seccomp: nothing to forbid it with */
    ck_assert_int_lt(syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0), 0);
    hand_over(HAND_OVERS / 10); /* each wait takes a millisecond */
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
    tcase_add_test(tcase, lock_released_likewise_without_membarrier);
    tcase_add_test(tcase, signal_wait_times_out);
    tcase_add_test(tcase, signal_all_wakes_all_waiters);
    return run_tcase("lock", tcase);
}
