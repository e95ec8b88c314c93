/* SPDX-License-Identifier: BSD-3-Clause */
/* Medians, ratios and their confidence intervals. */
#include "perf/stats.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* The probability outside of an interval, on either side. */
#define TAIL 0.025
/* The 1 - TAIL quantile of the normal distribution. */
#define TAIL_NORMAL 1.959963984540054
/* Up to so many values on both sides the distribution is computed exactly;
 * above, it is approximated by the normal one. */
#define EXACT_MAX 40

static int
compare_values(const void *left, const void *right)
{
    double a = *(const double *) left, b = *(const double *) right;

    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

size_t
perf_stats_sort(double *values, size_t count)
{
    if (count > 1)
        qsort(values, count, sizeof *values, compare_values);
    while (count > 0 && isnan(values[count - 1]))
        count--;
    return count;
}

double
perf_stats_quantile(const double *sorted, size_t count, double rank)
{
    double position, below;
    size_t i;

    if (count == 0)
        return (double) NAN;
    position = rank * (double) (count - 1);
    below = floor(position);
    i = (size_t) below;
    if (i + 1 >= count)
        return sorted[count - 1];
    return sorted[i] + (sorted[i + 1] - sorted[i]) * (position - below);
}

/* Returns how many values at either end are outside of the interval: the
 * largest k with P(fewer than k of count values are below the median) ≤
 * TAIL. */
static size_t
outside(size_t count)
{
    double n = (double) count, sum = 0;
    size_t k;

    for (k = 0; k < count; k++) {
        double i = (double) k;

        sum += exp(
            lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) - n * log(2.0));
        if (sum > TAIL)
            break;
    }
    return k;
}

struct perf_estimate
perf_stats_median(const double *sorted, size_t count)
{
    struct perf_estimate estimate = {
        perf_stats_quantile(sorted, count, 0.5), (double) NAN, (double) NAN};
    size_t k;

    if (count < PERF_STATS_LEAST)
        return estimate;
    k = outside(count);
    estimate.low = sorted[k - 1];
    estimate.high = sorted[count - k];
    return estimate;
}

/* Computes the distribution of the Mann-Whitney statistic: the share of the
 * orders of m and n values in which u pairs have the one of m in front, for
 * each u up to m * n. The last value of an order is one of the m, behind all n,
 * or one of the n; so the counts are sums of those of fewer values. To be
 * freed. NULL: out of memory. */
static double *
count_orders(size_t m, size_t n)
{
    size_t width = m * n + 1;
    double *ways = calloc((m + 1) * width, sizeof *ways), total = 1;

    if (!ways)
        return NULL;
    for (size_t i = 0; i <= m; i++)
        ways[i * width] = 1;
    for (size_t j = 1; j <= n; j++)
        for (size_t i = 1; i <= m; i++)
            for (size_t u = j; u < width; u++)
                ways[i * width + u] += ways[(i - 1) * width + u - j];
    for (size_t i = 1; i <= m; i++)
        total *= (double) (n + i) / (double) i;
    for (size_t u = 0; u < width; u++)
        ways[u] = ways[m * width + u] / total;
    return ways;
}

/* Returns how many of the m * n quotients at either end are outside of the
 * interval; 0: there is no interval. */
static size_t
outside_pairs(size_t m, size_t n)
{
    double pairs = (double) m * (double) n, sum = 0, k;
    double *ways;
    size_t u;

    if (m > EXACT_MAX || n > EXACT_MAX) {
        k = floor(
            pairs / 2 - TAIL_NORMAL * sqrt(pairs * (double) (m + n + 1) / 12));
        return k > 0 ? (size_t) k : 0;
    }
    ways = count_orders(m, n);
    if (!ways)
        return 0;
    for (u = 0; u <= m * n; u++) {
        sum += ways[u];
        if (sum > TAIL)
            break;
    }
    free(ways);
    return u;
}

struct perf_estimate
perf_stats_ratio(
    const double *a, size_t count_a, const double *b, size_t count_b)
{
    struct perf_estimate estimate = {(double) NAN, (double) NAN, (double) NAN};
    size_t pairs, k, n = 0;
    double *ratios;

    if (count_a == 0 || count_b == 0 || count_b > SIZE_MAX / count_a)
        return estimate;
    pairs = count_a * count_b;
    ratios = calloc(pairs, sizeof *ratios);
    if (!ratios)
        return estimate;
    for (size_t i = 0; i < count_a; i++)
        for (size_t j = 0; j < count_b; j++)
            if (a[i] > 0 && b[j] > 0)
                ratios[n++] = b[j] / a[i];
    if (n == pairs) {
        perf_stats_sort(ratios, pairs);
        /* The geometric mean of the two middle quotients of an even number, so
         * that a to b is the inverse of b to a. */
        estimate.value =
            sqrt(ratios[(pairs - 1) / 2]) * sqrt(ratios[pairs / 2]);
        k = outside_pairs(count_a, count_b);
        if (k > 0) {
            estimate.low = ratios[k - 1];
            estimate.high = ratios[pairs - k];
        }
    }
    free(ratios);
    return estimate;
}
