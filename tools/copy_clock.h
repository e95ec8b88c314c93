/* SPDX-License-Identifier: BSD-3-Clause */
/* Time that only moves forward, in seconds. */
#ifndef COPY_CLOCK_H
#define COPY_CLOCK_H

#include <time.h>

static inline double
copy_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

#endif /* COPY_CLOCK_H */
