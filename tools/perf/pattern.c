/* SPDX-License-Identifier: BSD-3-Clause */
/* A message of at least eight bytes begins with its key, so the receiver can
 * check the rest without knowing the key. */
#include "perf/pattern.h"

#include <string.h>

#define WORD sizeof(uint64_t)

/* Returns the word at an offset: any bijection that mixes well. */
static uint64_t
word_at(uint64_t key, size_t offset)
{
    uint64_t word;

    if (offset == 0)
        return key;
    word = key + (uint64_t) offset * UINT64_C(0x9E3779B97F4A7C15);
    word = (word ^ word >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return word ^ word >> 32;
}

static size_t
word_size(size_t size, size_t offset)
{
    return size - offset < WORD ? size - offset : WORD;
}

void
perf_pattern_fill(void *bytes, size_t size, uint64_t key)
{
    for (size_t offset = 0; offset < size; offset += WORD) {
        uint64_t word = word_at(key, offset);

        memcpy((char *) bytes + offset, &word, word_size(size, offset));
    }
}

size_t
perf_pattern_check(const void *bytes, size_t size, uint64_t key)
{
    const char *start = bytes;

    for (size_t offset = 0; offset < size; offset += WORD) {
        uint64_t word = word_at(key, offset);
        const char *right = (const char *) &word;
        size_t length = word_size(size, offset);

        if (memcmp(start + offset, right, length) == 0)
            continue;
        for (size_t i = 0; i < length; i++)
            if (start[offset + i] != right[i])
                return offset + i;
    }
    return size;
}

uint64_t
perf_pattern_key(const void *bytes, size_t size)
{
    uint64_t key = 0;

    memcpy(&key, bytes, size < WORD ? size : WORD);
    return key;
}
