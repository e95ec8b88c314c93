/* SPDX-License-Identifier: BSD-3-Clause */
/* The checksum of a file: the sum of the seeded hashes of its chunks. A sum
 * doesn't care for the order in which chunks arrive, so none has to wait; the
 * seed sees to it that a chunk in another one's place is noticed. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "copy/hash.h"

void
copy_hash_add(copy_sum_t *sum, uint64_t offset, const void *data, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(data, size, offset);

    sum->low += hash.low64;
    sum->high += hash.high64 + (sum->low < hash.low64);
}

bool
copy_hash_equal(const copy_sum_t *a, const copy_sum_t *b)
{
    return a->low == b->low && a->high == b->high;
}
