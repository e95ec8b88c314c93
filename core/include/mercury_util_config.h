/* SPDX-License-Identifier: BSD-3-Clause */
/* What every util header needs: the version of the interface, return values,
 * and how functions are exported. */
#ifndef MERCURY_UTIL_CONFIG_H
#define MERCURY_UTIL_CONFIG_H

#include "mercury_compiler_attributes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Version of the util interface, not of Talaria. */
#define HG_UTIL_VERSION_MAJOR 4
#define HG_UTIL_VERSION_MINOR 1
#define HG_UTIL_VERSION_PATCH 0

/* Return values of functions that return int. */
#define HG_UTIL_SUCCESS 0
#define HG_UTIL_FAIL (-1)

#ifdef __cplusplus
#define HG_UTIL_INLINE inline
#else
#define HG_UTIL_INLINE __inline__
#endif

#define HG_UTIL_PUBLIC __attribute__((visibility("default")))
#define HG_UTIL_PRIVATE __attribute__((visibility("hidden")))
#define HG_UTIL_PLUGIN __attribute__((visibility("default")))

#define HG_UTIL_ALIGNED(x, a) x __attribute__((aligned(a)))
#define HG_UTIL_PRINTF(format_at, values_at)                                   \
    HG_ATTR_PRINTF(format_at, values_at)

#endif /* MERCURY_UTIL_CONFIG_H */
