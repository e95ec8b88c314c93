/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying messages, most of which are so short that a function call would cost
 * more than the copy. */
#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stddef.h>
#include <string.h>

/* memcpy that allows null pointers for 0 bytes. 32 to 128 bytes are copied as
 * two ranges, which may overlap. */
static inline void
base_copy(void *to, const void *from, size_t size)
{
    char *out = to;
    const char *in = from;

    if (size - 32 <= 64 - 32) {
        memcpy(out, in, 32);
        memcpy(out + size - 32, in + size - 32, 32);
    } else if (size - 64 <= 128 - 64) {
        memcpy(out, in, 64);
        memcpy(out + size - 64, in + size - 64, 64);
    } else if (size > 0) {
        memcpy(to, from, size);
    }
}

#endif /* BASE_COPY_H */
