/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the current speed of the machine: the round trip of a cache line
 * between two processors. */
#ifndef PERF_GAUGE_H
#define PERF_GAUGE_H

#include <stdbool.h>
#include <stdint.h>

struct perf_gauge;

/* Starts the helper process, which sleeps between measurements. cpu_a, cpu_b:
 * the processors of the two sides; -1: the measuring thread's, and another one
 * for the helper. The helper also gets another one if both are equal. On a
 * machine with one processor *gauge_p is NULL, which is no error. false:
 * failed; the error was printed. */
bool perf_gauge_start(
    int32_t cpu_a, int32_t cpu_b, struct perf_gauge **gauge_p);

/* Returns the median round trip in ns, measured for about 2 ms. NaN: the gauge
 * is NULL or its helper died. */
double perf_gauge_measure(struct perf_gauge *gauge);

void perf_gauge_stop(struct perf_gauge *gauge);

#endif /* PERF_GAUGE_H */
