/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes of messages that can be told from any other's. */
#ifndef SM_TEST_PATTERN_H
#define SM_TEST_PATTERN_H

#include <check.h>
#include <stdint.h>

/* Bytes derived from their offset and their message. */
static inline void
fill(unsigned char *buffer, uint64_t length, uint64_t tag)
{
    for (uint64_t i = 0; i < length; i++)
        buffer[i] = (unsigned char) (i * 7 + tag * 13 + (i >> 8));
}

static inline void
check_bytes(const unsigned char *buffer, uint64_t length, uint64_t tag)
{
    for (uint64_t i = 0; i < length; i++)
        if (buffer[i] != (unsigned char) (i * 7 + tag * 13 + (i >> 8)))
            ck_abort_msg(
                "byte %u of %u differs", (unsigned) i, (unsigned) length);
}

#endif /* SM_TEST_PATTERN_H */
