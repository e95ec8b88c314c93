/* SPDX-License-Identifier: BSD-3-Clause */
/* The checksum of a file, computed from its chunks in any order. */
#ifndef COPY_HASH_H
#define COPY_HASH_H

#include "copy/proto.h"

/* Adds the chunk at byte `offset` of the file: `size` bytes at data. A sum
 * starts as zero. */
void copy_hash_add(
    copy_sum_t *sum, uint64_t offset, const void *data, size_t size);

/* Adds the sum of other chunks. */
void copy_hash_join(copy_sum_t *sum, const copy_sum_t *other);

bool copy_hash_equal(const copy_sum_t *a, const copy_sum_t *b);

#endif /* COPY_HASH_H */
