/* SPDX-License-Identifier: BSD-3-Clause */
/* Times: points of the monotonic clock, and spans, of seconds and nanoseconds.
 * A negative time has negative seconds and nanoseconds from 0 to 999,999,999. */
#ifndef MERCURY_TIME_H
#define MERCURY_TIME_H

#include "mercury_util_config.h"

#include <time.h>

typedef struct timespec hg_time_t;

#define HG_UTIL_STAMP_MAX 128

#ifdef __cplusplus
extern "C" {
#endif

/* The time now. Returns HG_UTIL_SUCCESS. */
HG_UTIL_PUBLIC int hg_time_get_current(hg_time_t *tv);

/* The time now, some milliseconds old at most, for less. */
HG_UTIL_PUBLIC int hg_time_get_current_ms(hg_time_t *tv);

/* Sleeps for a span. Returns HG_UTIL_SUCCESS, or HG_UTIL_FAIL: a signal came
 * first, or it is no span. */
HG_UTIL_PUBLIC int hg_time_sleep(const hg_time_t rqt);

/* The date and time as words, until this thread calls it again. */
HG_UTIL_PUBLIC char *hg_time_stamp(void);

#ifdef __cplusplus
}
#endif

static HG_UTIL_INLINE double
hg_time_to_double(hg_time_t tv)
{
    return (double) tv.tv_sec + (double) tv.tv_nsec * 1e-9;
}

/* From seconds, at least 0. */
static HG_UTIL_INLINE hg_time_t
hg_time_from_double(double d)
{
    hg_time_t tv;

    tv.tv_sec = (time_t) d;
    tv.tv_nsec = (long) ((d - (double) tv.tv_sec) * 1e9);
    return tv;
}

/* To milliseconds, rounded up. */
static HG_UTIL_INLINE unsigned int
hg_time_to_ms(hg_time_t tv)
{
    return (unsigned int) (tv.tv_sec * 1000 + (tv.tv_nsec + 999999) / 1000000);
}

static HG_UTIL_INLINE hg_time_t
hg_time_from_ms(unsigned int ms)
{
    hg_time_t tv;

    tv.tv_sec = (time_t) (ms / 1000);
    tv.tv_nsec = (long) (ms % 1000) * 1000000;
    return tv;
}

/* Whether in1 is before in2. */
static HG_UTIL_INLINE bool
hg_time_less(hg_time_t in1, hg_time_t in2)
{
    return in1.tv_sec != in2.tv_sec ? in1.tv_sec < in2.tv_sec
                                    : in1.tv_nsec < in2.tv_nsec;
}

static HG_UTIL_INLINE hg_time_t
hg_time_add(hg_time_t in1, hg_time_t in2)
{
    hg_time_t sum;

    sum.tv_sec = in1.tv_sec + in2.tv_sec;
    sum.tv_nsec = in1.tv_nsec + in2.tv_nsec;
    if (sum.tv_nsec >= 1000000000) {
        sum.tv_sec++;
        sum.tv_nsec -= 1000000000;
    }
    return sum;
}

/* in1 - in2 */
static HG_UTIL_INLINE hg_time_t
hg_time_subtract(hg_time_t in1, hg_time_t in2)
{
    hg_time_t left;

    left.tv_sec = in1.tv_sec - in2.tv_sec;
    left.tv_nsec = in1.tv_nsec - in2.tv_nsec;
    if (left.tv_nsec < 0) {
        left.tv_sec--;
        left.tv_nsec += 1000000000;
    }
    return left;
}

/* Seconds from in1 to in2. */
static HG_UTIL_INLINE double
hg_time_diff(hg_time_t in2, hg_time_t in1)
{
    return hg_time_to_double(hg_time_subtract(in2, in1));
}

#endif /* MERCURY_TIME_H */
