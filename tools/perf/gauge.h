/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast the machine is at this moment: one cache line there and back between
 * two processors.
 */
#ifndef PERF_GAUGE_H
#define PERF_GAUGE_H

#include <stdbool.h>
#include <stdint.h>

struct perf_gauge;

/* Starts a helper process that sleeps while it is not asked. cpu_a, cpu_b: the
 * processors of the two sides, -1: wherever the measuring thread is, and
 * another one for the helper, which it gets, too, when both are the same. With
 * one processor only there is nothing to gauge: *gauge_p is NULL, and that is
 * no error. false: could not be started, which was said. */
bool perf_gauge_start(
    int32_t cpu_a, int32_t cpu_b, struct perf_gauge **gauge_p);

/* Median duration of a round trip in ns, measured for about 2 ms; NaN if the
 * gauge is NULL or its helper died. */
double perf_gauge_measure(struct perf_gauge *gauge);

void perf_gauge_stop(struct perf_gauge *gauge);

#endif /* PERF_GAUGE_H */
