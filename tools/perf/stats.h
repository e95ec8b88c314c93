/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Medians and what they are worth, without assuming how values are distributed:
 * intervals by order statistics and by ranks.
 */
#ifndef PERF_STATS_H
#define PERF_STATS_H

#include <stddef.h>

/* Fewer values than these have no 95 % interval of their median. */
#define PERF_STATS_LEAST 6

/* A median, or a ratio, with its 95 % confidence interval; NaN: there is none,
 * for want of values. */
struct perf_estimate {
    double value;
    double low;
    double high;
};

/* Sorts in place, from small to large; NaN are moved to the end. Returns how
 * many are not NaN. */
size_t perf_stats_sort(double *values, size_t count);

/* Quantile of sorted values, 0 ≤ rank ≤ 1, between two values in proportion;
 * NaN of none. */
double perf_stats_quantile(const double *sorted, size_t count, double rank);

/* Median of sorted values. The interval is between two of the values: those
 * between which the median of what was sampled lies with a probability of at
 * least 0.95, by the binomial distribution with p = 1/2. */
struct perf_estimate perf_stats_median(const double *sorted, size_t count);

/* By what factor b is larger than a: the median of the quotients of every b and
 * every a (Hodges and Lehmann's estimate, of the logarithms), and the interval
 * of it that Mann and Whitney's test of ranks gives. The values need not be in
 * pairs, nor sorted; all have to be positive, else all is NaN. NaN, too, when
 * there is out of memory for count_a * count_b quotients. */
struct perf_estimate perf_stats_ratio(
    const double *a, size_t count_a, const double *b, size_t count_b);

#endif /* PERF_STATS_H */
