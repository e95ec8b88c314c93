/* SPDX-License-Identifier: BSD-3-Clause */
/* The checksum of a file: the sum of the hashes of its chunks, so chunks can be
 * added in any order. The seed is the chunk's offset, so swapped chunks change
 * the sum. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "copy/hash.h"

void
copy_hash_add(copy_sum_t *sum, uint64_t offset, const void *data, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(data, size, offset);
    copy_sum_t chunk = {hash.low64, hash.high64};

    copy_hash_join(sum, &chunk);
}

void
copy_hash_join(copy_sum_t *sum, const copy_sum_t *other)
{
    sum->low += other->low;
    sum->high += other->high + (sum->low < other->low);
}

bool
copy_hash_equal(const copy_sum_t *a, const copy_sum_t *b)
{
    return a->low == b->low && a->high == b->high;
}
