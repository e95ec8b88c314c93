/* SPDX-License-Identifier: BSD-3-Clause */
/* The claim word of a range, and memory that is copied piece by piece. */
#include <stdlib.h>
#include <string.h>

#include "hostile_range.h"

unsigned char *range_source;
unsigned char *range_destination;

void
allocate_range(void)
{
    range_source = malloc(LENGTH);
    range_destination = malloc(LENGTH);
    ck_assert_ptr_nonnull(range_source);
    ck_assert_ptr_nonnull(range_destination);
    memset(range_source, 0x77, LENGTH);
    memset(range_destination, 0x11, LENGTH);
}

_Atomic uint64_t *
word_at(unsigned char *ring, uint32_t offset)
{
    return (_Atomic uint64_t *) (void *) (ring + offset);
}

uint64_t
claim(uint32_t number, uint32_t front, uint32_t back)
{
    return (uint64_t) number << 32 | (uint64_t) front << 16 | back;
}

uint32_t
count_pieces(const unsigned char *memory, unsigned char value)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < PIECES; i++) {
        const unsigned char *piece = memory + (size_t) i * PIECE;
        ck_assert_int_eq(memcmp(piece, piece + 1, PIECE - 1), 0);
        count += piece[0] == value;
    }
    return count;
}
