/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock, and the wake-up. */
#include "common/lock.h"

#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/wake.h"
#include "na_plugin.h"
#include "runner.h"

#define THREADS 4U
#define ROUNDS 20000U

static struct tp_lock lock;
static uint64_t shared;

static void *
add(void *arg)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        tp_lock_take(&lock);
        uint64_t seen = shared;
        if (i % 64 == 0)
            sched_yield();
        shared = seen + 1;
        tp_lock_drop(&lock);
    }
    return arg;
}

START_TEST(lock_excludes_other_threads)
{
    pthread_t threads[THREADS];

    tp_lock_init(&lock, false);
    shared = 0;
    for (uint32_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, add, NULL), 0);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(shared, (uint64_t) THREADS * ROUNDS);
}
END_TEST

START_TEST(try_lock_fails_while_held_unless_disabled)
{
    tp_lock_init(&lock, false);
    ck_assert(tp_lock_try(&lock));
    ck_assert(!tp_lock_try(&lock));
    ck_assert(!tp_lock_try_fast(&lock, false));
    tp_lock_drop(&lock);
    ck_assert(tp_lock_try_fast(&lock, false));
    tp_lock_drop_fast(&lock, false);
    tp_lock_init(&lock, true);
    tp_lock_take(&lock);
    ck_assert(tp_lock_try(&lock));
    tp_lock_drop(&lock);
    ck_assert_uint_eq(sizeof(lock), 8);
}
END_TEST

static bool
readable(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};

    return poll(&one, 1, 0) == 1;
}

START_TEST(wake_up_is_readable_until_cleared)
{
    struct tp_wake wake;
    int other = eventfd(0, EFD_NONBLOCK);
    eventfd_t value;

    ck_assert_int_eq(tp_wake_init(&wake, &other, 1), NA_PLUGIN_OK);
    ck_assert(!readable(wake.fd));
    tp_wake_set(&wake);
    tp_wake_set(&wake);
    ck_assert(readable(wake.fd));
    tp_wake_clear(&wake);
    ck_assert(!readable(wake.fd));
    ck_assert_int_eq(eventfd_write(other, 1), 0);
    ck_assert(readable(wake.fd));
    tp_wake_clear(&wake);
    ck_assert(readable(wake.fd));
    ck_assert_int_eq(eventfd_read(other, &value), 0);
    ck_assert(!readable(wake.fd));
    ck_assert_int_ne(fcntl(wake.fd, F_GETFD) & FD_CLOEXEC, 0);
    ck_assert_int_ne(fcntl(wake.event, F_GETFD) & FD_CLOEXEC, 0);
    tp_wake_fini(&wake);
    ck_assert_int_eq(fcntl(other, F_GETFD) & FD_CLOEXEC, 0);
    close(other);
    tp_wake_set(&wake); /* without descriptors: nothing */
    tp_wake_clear(&wake);
    tp_wake_fini(&wake);
}
END_TEST

START_TEST(wake_up_creation_failure_leaks_no_descriptor)
{
    struct tp_wake wake;
    int none = -1;
    int before = dup(0);

    ck_assert_int_eq(tp_wake_init(&wake, &none, 1), NA_PLUGIN_E_NOMEM);
    ck_assert(wake.fd == -1 && wake.event == -1);
    int after = dup(0);
    ck_assert_int_eq(after, before + 1);
    close(before);
    close(after);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("lock");
    tcase_add_test(cases, lock_excludes_other_threads);
    tcase_add_test(cases, try_lock_fails_while_held_unless_disabled);
    tcase_add_test(cases, wake_up_is_readable_until_cleared);
    tcase_add_test(cases, wake_up_creation_failure_leaks_no_descriptor);
    return run_tcase("lock", cases);
}
