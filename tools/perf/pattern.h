/* SPDX-License-Identifier: BSD-3-Clause */
/* Contents that differ for each operation and can be verified: the key, then
 * words computed from it; cut off at the end. */
#ifndef PERF_PATTERN_H
#define PERF_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* Writes the pattern of a key. */
void perf_pattern_fill(void *bytes, size_t size, uint64_t key);

/* Returns the offset of the first wrong byte, or size. */
size_t perf_pattern_check(const void *bytes, size_t size, uint64_t key);

/* Returns the key at the beginning, or as many of its bytes as there are. */
uint64_t perf_pattern_key(const void *bytes, size_t size);

#endif /* PERF_PATTERN_H */
