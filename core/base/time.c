/* SPDX-License-Identifier: BSD-3-Clause */
/* Monotonic time in nanoseconds, and deadlines. */
#include "base/time.h"

#define NS_PER_S 1000000000ULL

uint64_t
base_time_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * NS_PER_S + (uint64_t) now.tv_nsec;
}

uint64_t
base_time_deadline(unsigned timeout_ms)
{
    return base_time_now() + timeout_ms * BASE_TIME_MS;
}

uint64_t
base_time_left(uint64_t deadline)
{
    uint64_t now;

    if (deadline == BASE_TIME_NEVER)
        return BASE_TIME_NEVER;
    now = base_time_now();
    return now < deadline ? deadline - now : 0;
}

struct timespec
base_time_spec(uint64_t ns)
{
    /* Limited, since a time_t of four bytes would wrap into the past. */
    if (sizeof(time_t) < 8 && ns / NS_PER_S > INT32_MAX)
        return (struct timespec){.tv_sec = INT32_MAX};
    return (struct timespec){
        .tv_sec = (time_t) (ns / NS_PER_S), .tv_nsec = (long) (ns % NS_PER_S)};
}
