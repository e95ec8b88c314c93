/* SPDX-License-Identifier: BSD-3-Clause */
/* A histogram of durations. The width of a bucket is at most a 128th of its
 * durations, so that quantiles are exact to 1 %. */
#ifndef PERF_HISTOGRAM_H
#define PERF_HISTOGRAM_H

#include <stdint.h>

#include "perf/result.h"

#define PERF_HISTOGRAM_BITS 7U /* log2 of the buckets of an octave */
#define PERF_HISTOGRAM_OCTAVES 36U
#define PERF_HISTOGRAM_BUCKETS                                                 \
    ((PERF_HISTOGRAM_OCTAVES + 1) << PERF_HISTOGRAM_BITS)

struct perf_histogram {
    uint64_t max; /* exact; ns */
    uint32_t counts[PERF_HISTOGRAM_BUCKETS];
};

/* Below 128 ns a bucket is 1 ns wide; the last one has all longer durations. */
static inline uint32_t
perf_histogram_bucket(uint64_t ns)
{
    uint32_t octave;

    if (ns >> PERF_HISTOGRAM_BITS == 0)
        return (uint32_t) ns;
    octave = 63U - (uint32_t) __builtin_clzll(ns) - PERF_HISTOGRAM_BITS;
    if (octave >= PERF_HISTOGRAM_OCTAVES)
        return PERF_HISTOGRAM_BUCKETS - 1;
    return (octave << PERF_HISTOGRAM_BITS) + (uint32_t) (ns >> octave);
}

static inline void
perf_histogram_add(struct perf_histogram *histogram, uint64_t ns)
{
    if (ns > histogram->max)
        histogram->max = ns;
    histogram->counts[perf_histogram_bucket(ns)]++;
}

/* Adds the counts of another histogram. */
void perf_histogram_merge(
    struct perf_histogram *histogram, const struct perf_histogram *other);

/* Computes the quantiles in ns; NaN if the histogram is empty. */
void perf_histogram_quantiles(
    const struct perf_histogram *histogram, double quantiles[PERF_QUANTILES]);

#endif /* PERF_HISTOGRAM_H */
