/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of the command line (64, 4K, 1M), and lists and ranges of sizes. */
#ifndef PERF_SIZES_H
#define PERF_SIZES_H

#include <stdbool.h>
#include <stdint.h>

/* Reads a number from least to most. suffix: K, M and G (powers of 1024) are
 * allowed. */
bool perf_number_read(const char *text, bool suffix, uint64_t least,
    uint64_t most, uint64_t *value_p);

/* Reads numbers with suffixes and ranges A:B (A, 2 A, 4 A, … up to B),
 * separated by commas. false: invalid, or more than max. */
bool perf_sizes_read(
    const char *text, uint64_t *sizes, uint32_t max, uint32_t *count_p);

#endif /* PERF_SIZES_H */
