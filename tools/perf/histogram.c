/* SPDX-License-Identifier: BSD-3-Clause */
/* Merges histograms and computes quantiles. */
#include "perf/histogram.h"

#include <math.h>

void
perf_histogram_merge(
    struct perf_histogram *histogram, const struct perf_histogram *other)
{
    if (other->max > histogram->max)
        histogram->max = other->max;
    for (uint32_t i = 0; i < PERF_HISTOGRAM_BUCKETS; i++)
        histogram->counts[i] += other->counts[i];
}

/* Returns the middle of a bucket. */
static double
middle(uint32_t bucket)
{
    uint32_t octave = bucket >> PERF_HISTOGRAM_BITS;
    uint64_t width, low;

    if (octave == 0)
        return bucket;
    octave--;
    width = UINT64_C(1) << octave;
    low = (uint64_t) (bucket - (octave << PERF_HISTOGRAM_BITS)) << octave;
    return (double) low + (double) (width - 1) / 2;
}

/* Returns the duration that a share of all durations does not exceed. */
static double
quantile(const struct perf_histogram *histogram, uint64_t total, double share)
{
    uint64_t rank = (uint64_t) ceil(share * (double) total), seen = 0;
    double value;

    for (uint32_t i = 0; i < PERF_HISTOGRAM_BUCKETS; i++) {
        seen += histogram->counts[i];
        if (seen < rank || seen == 0)
            continue;
        value = middle(i);
        return value < (double) histogram->max ? value
                                               : (double) histogram->max;
    }
    return (double) histogram->max;
}

void
perf_histogram_quantiles(
    const struct perf_histogram *histogram, double quantiles[PERF_QUANTILES])
{
    static const double shares[PERF_QUANTILES] = {
        [PERF_P50] = 0.5,
        [PERF_P90] = 0.9,
        [PERF_P99] = 0.99,
        [PERF_P999] = 0.999,
    };
    uint64_t total = 0;

    for (uint32_t i = 0; i < PERF_HISTOGRAM_BUCKETS; i++)
        total += histogram->counts[i];
    for (int i = 0; i < PERF_QUANTILES; i++) {
        if (total == 0)
            quantiles[i] = (double) NAN;
        else if (i == PERF_MAX)
            quantiles[i] = (double) histogram->max;
        else
            quantiles[i] = quantile(histogram, total, shares[i]);
    }
}
