/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes that differ with each operation and can be checked: a key, cut off if
 * there is no room for it, and numbers that follow from it.
 */
#ifndef PERF_PATTERN_H
#define PERF_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* Writes the bytes of a key. */
void perf_pattern_fill(void *bytes, size_t size, uint64_t key);

/* Returns the offset of the first byte that is not as it was filled, or size
 * when all are right. */
size_t perf_pattern_check(const void *bytes, size_t size, uint64_t key);

/* The key that bytes begin with, as much of it as there is. */
uint64_t perf_pattern_key(const void *bytes, size_t size);

#endif /* PERF_PATTERN_H */
