/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many calls a counted one stands for.
 *
 * Calls take longer while they are counted, so that the calls of a window, times
 * the part of the time that it was open, are too few. But handles number their
 * calls and ports their requests, counted or not: the difference since the last
 * counted one is exact. Without such numbers (loopback, multi-receives) the time
 * is used.
 */
#ifndef WATCH_SCALE_H
#define WATCH_SCALE_H

#include "watch/page.h"

#include <stdbool.h>

/* Forgets all numbers: nobody has looked for a while. */
void watch_scale_reset(void);

/* A call is counted. source: what numbers it, or NULL. */
void watch_scale_add(enum watch_side side, const void *source, uint32_t number);

/* Returns what the calls counted since the last end stand for, and begins again.
 * time_factor: period by time in which calls were counted. */
double watch_scale_end(enum watch_side side, double time_factor);

#endif /* WATCH_SCALE_H */
