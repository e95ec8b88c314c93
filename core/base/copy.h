/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying messages, most of which are so short that a function call would cost
 * more than the copy. */
#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Copies 32 to 128 bytes, as two ranges, which may overlap. Returns false, and
 * copies nothing, if size is another. */
static inline __attribute__((always_inline)) bool
base_copy_short(void *to, const void *from, size_t size)
{
    char *out = to;
    const char *in = from;

    if (size - 32 <= 64 - 32) {
        memcpy(out, in, 32);
        memcpy(out + size - 32, in + size - 32, 32);
        return true;
    }
    if (size - 64 <= 128 - 64) {
        memcpy(out, in, 64);
        memcpy(out + size - 64, in + size - 64, 64);
        return true;
    }
    return false;
}

/* memcpy that allows null pointers for 0 bytes. */
static inline void
base_copy(void *to, const void *from, size_t size)
{
    if (!base_copy_short(to, from, size) && size > 0)
        memcpy(to, from, size);
}

#endif /* BASE_COPY_H */
