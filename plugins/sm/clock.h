/* SPDX-License-Identifier: BSD-3-Clause */
/* The monotonic clock. */
#ifndef SM_CLOCK_H
#define SM_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds. */
static inline uint64_t
sm_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * UINT64_C(1000000000) +
           (uint64_t) now.tv_nsec;
}

#endif /* SM_CLOCK_H */
