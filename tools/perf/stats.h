/* SPDX-License-Identifier: BSD-3-Clause */
/* Medians and ratios with confidence intervals by order statistics and ranks,
 * without an assumption on the distribution of values. */
#ifndef PERF_STATS_H
#define PERF_STATS_H

#include <stddef.h>

/* A median of fewer values has no 95 % interval. */
#define PERF_STATS_LEAST 6

/* A median or ratio with its 95 % confidence interval; NaN: too few values. */
struct perf_estimate {
    double value;
    double low;
    double high;
};

/* Sorts in ascending order, NaN last. Returns the number of values that are not
 * NaN. */
size_t perf_stats_sort(double *values, size_t count);

/* Returns a quantile of sorted values, 0 ≤ rank ≤ 1, interpolated linearly; NaN
 * if there are none. */
double perf_stats_quantile(const double *sorted, size_t count, double rank);

/* Returns the median of sorted values. The interval is between two of the
 * values and contains the median of the population with a probability of at
 * least 0.95, by the binomial distribution with p = 1/2. */
struct perf_estimate perf_stats_median(const double *sorted, size_t count);

/* Returns the factor from a to b: the median of all quotients of b and a (the
 * Hodges-Lehmann estimate, of logarithms), with the interval of the
 * Mann-Whitney test. Values are unpaired, unsorted and positive; otherwise, and
 * if out of memory, the result is NaN. */
struct perf_estimate perf_stats_ratio(
    const double *a, size_t count_a, const double *b, size_t count_b);

#endif /* PERF_STATS_H */
