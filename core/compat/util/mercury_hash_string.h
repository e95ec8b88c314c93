/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash of a string. */
#ifndef MERCURY_HASH_STRING_H
#define MERCURY_HASH_STRING_H

#include "mercury_util_config.h"

/* Bernstein's hash, modulo 2^32: 5381, then times 33 plus each byte. The same
 * in every process and version: programs make RPC ids of it. */
static HG_UTIL_INLINE unsigned int
hg_hash_string(const char *string)
{
    uint32_t hash = 5381;

    for (; *string != '\0'; string++)
        hash = hash * 33 + (unsigned char) *string;
    return hash;
}

#endif /* MERCURY_HASH_STRING_H */
