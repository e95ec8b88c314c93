/* SPDX-License-Identifier: BSD-3-Clause */
/* Time in ns, and processor time. */
#ifndef PERF_CLOCK_H
#define PERF_CLOCK_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define PERF_SECOND_NS UINT64_C(1000000000)
#define PERF_MS_NS UINT64_C(1000000)

/* CLOCK_MONOTONIC, the same in all processes. */
static inline uint64_t
perf_clock_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t) time.tv_sec * PERF_SECOND_NS + (uint64_t) time.tv_nsec;
}

/* Processor time of all threads of a process (0: this one); 0 if it has
 * ended. */
static inline uint64_t
perf_clock_cpu(pid_t pid)
{
    struct timespec time;
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) != 0 ||
        clock_gettime(clock, &time) != 0)
        return 0;
    return (uint64_t) time.tv_sec * PERF_SECOND_NS + (uint64_t) time.tv_nsec;
}

#endif /* PERF_CLOCK_H */
