/* SPDX-License-Identifier: BSD-3-Clause */
/* The wrapped calls: the gate before one, the hook in the other. */
#include "sleep_gate.h"

#include "counts.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool closed;
static bool somebody_waits;
static uint32_t passed;

void
sleep_gate_close(void)
{
    pthread_mutex_lock(&lock);
    closed = true;
    somebody_waits = false;
    pthread_mutex_unlock(&lock);
}

void
sleep_gate_open(void)
{
    pthread_mutex_lock(&lock);
    closed = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void
sleep_gate_wait(void)
{
    struct timespec until;
    int error = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += test_count(TEST_WAIT_MS) / 1000;
    pthread_mutex_lock(&lock);
    while (!somebody_waits && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&changed, &lock, &until);
    pthread_mutex_unlock(&lock);
    ck_assert_msg(error != ETIMEDOUT, "no thread is about to sleep");
}

uint32_t
sleep_gate_passed(void)
{
    uint32_t count;

    pthread_mutex_lock(&lock);
    count = passed;
    pthread_mutex_unlock(&lock);
    return count;
}

static void
pass(void)
{
    pthread_mutex_lock(&lock);
    if (closed) {
        somebody_waits = true;
        pthread_cond_broadcast(&changed);
    }
    while (closed)
        pthread_cond_wait(&changed, &lock);
    passed++;
    pthread_mutex_unlock(&lock);
}

static _Thread_local struct {
    void (*hook)(void *arg);
    void *arg;
} own_sleep;

void
sleep_gate_hook(void (*hook)(void *arg), void *arg)
{
    own_sleep.hook = hook;
    own_sleep.arg = arg;
}

int __real_ppoll(struct pollfd *fds, nfds_t count,
    const struct timespec *timeout, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t count,
    const struct timespec *timeout, const sigset_t *mask);
int __wrap___ppoll_chk(struct pollfd *fds, nfds_t count,
    const struct timespec *timeout, const sigset_t *mask, size_t size);

int
__wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
    const sigset_t *mask)
{
    pass();
    if (own_sleep.hook)
        own_sleep.hook(own_sleep.arg);
    return __real_ppoll(fds, count, timeout, mask);
}

#define STEP_NS 100000L

static _Thread_local struct {
    unsigned nth;
    unsigned readings;
    void (*hook)(void *arg);
    void *arg;
} own_clock;

void
sleep_gate_clock(unsigned nth, void (*hook)(void *arg), void *arg)
{
    own_clock.nth = nth;
    own_clock.readings = 0;
    own_clock.hook = hook;
    own_clock.arg = arg;
}

int __real_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int
__wrap_clock_gettime(clockid_t id, struct timespec *now)
{
    int ret = __real_clock_gettime(id, now);
    long ns;

    if (own_clock.nth == 0)
        return ret;
    if (++own_clock.readings == own_clock.nth)
        own_clock.hook(own_clock.arg);
    ns = now->tv_nsec + STEP_NS * (long) own_clock.readings;
    now->tv_sec += ns / 1000000000;
    now->tv_nsec = ns % 1000000000;
    return ret;
}

/* Its name with _FORTIFY_SOURCE. */
int
__wrap___ppoll_chk(struct pollfd *fds, nfds_t count,
    const struct timespec *timeout, const sigset_t *mask, size_t size)
{
    (void) size;
    return __wrap_ppoll(fds, count, timeout, mask);
}
