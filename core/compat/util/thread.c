/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads and condition variables: thin over POSIX. */
#include "mercury_thread.h"
#include "mercury_thread_condition.h"
#include "mercury_time.h"

#include <string.h>
#include <time.h>

static int
result_of(int error)
{
    return error ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

void
hg_thread_init(hg_thread_t *thread)
{
    memset(thread, 0, sizeof *thread);
}

int
hg_thread_create(hg_thread_t *thread, hg_thread_func_t f, void *data)
{
    return result_of(pthread_create(thread, NULL, f, data));
}

void
hg_thread_exit(hg_thread_ret_t ret)
{
    pthread_exit(ret);
}

int
hg_thread_join(hg_thread_t thread)
{
    return result_of(pthread_join(thread, NULL));
}

int
hg_thread_cancel(hg_thread_t thread)
{
    return result_of(pthread_cancel(thread));
}

int
hg_thread_yield(void)
{
    return result_of(sched_yield());
}

int
hg_thread_key_create(hg_thread_key_t *key)
{
    return result_of(pthread_key_create(key, NULL));
}

int
hg_thread_key_delete(hg_thread_key_t key)
{
    return result_of(pthread_key_delete(key));
}

int
hg_thread_getaffinity(hg_thread_t thread, hg_cpu_set_t *cpu_mask)
{
    return result_of(
        pthread_getaffinity_np(thread, sizeof *cpu_mask, cpu_mask));
}

int
hg_thread_setaffinity(hg_thread_t thread, const hg_cpu_set_t *cpu_mask)
{
    return result_of(
        pthread_setaffinity_np(thread, sizeof *cpu_mask, cpu_mask));
}

int
hg_thread_cond_init(hg_thread_cond_t *cond)
{
    pthread_condattr_t attr;
    int error = pthread_condattr_init(&attr);

    if (error)
        return HG_UTIL_FAIL;
    error = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    if (!error)
        error = pthread_cond_init(cond, &attr);
    (void) pthread_condattr_destroy(&attr);
    return result_of(error);
}

int
hg_thread_cond_timedwait(
    hg_thread_cond_t *cond, hg_thread_mutex_t *mutex, unsigned int timeout)
{
    hg_time_t now;
    hg_time_t deadline;

    if (hg_time_get_current(&now) != HG_UTIL_SUCCESS)
        return HG_UTIL_FAIL;
    deadline = hg_time_add(now, hg_time_from_ms(timeout));
    return result_of(pthread_cond_timedwait(cond, mutex, &deadline));
}
