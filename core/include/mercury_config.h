/* SPDX-License-Identifier: BSD-3-Clause */
/* What every HG header needs: the version of the interface, the features of
 * this build, integer types, and how functions are exported. */
#ifndef MERCURY_CONFIG_H
#define MERCURY_CONFIG_H

#include "mercury_compiler_attributes.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Version of the Mercury interface, not of Talaria. */
#define HG_VERSION_MAJOR 2
#define HG_VERSION_MINOR 4
#define HG_VERSION_PATCH 1

/* mercury_macros.h has the generator macros. */
#define HG_HAS_BOOST

/* Messages can be checksummed: see hg_checksum_level_t. */
#define HG_HAS_CHECKSUMS

/* Set on each public function. The shared library is built with every other
 * symbol hidden. The static library exports nothing. */
#ifdef TALARIA_BUILD_SHARED
#define HG_PUBLIC __attribute__((visibility("default")))
#else
#define HG_PUBLIC
#endif

/* For programs that use these names: a symbol hidden outside its library, and
 * one that may be unused. */
#define HG_PRIVATE __attribute__((visibility("hidden")))
#define HG_UNUSED __attribute__((unused))

#ifndef HG_INLINE
#define HG_INLINE inline
#endif

/* Older names of the standard integer types. */
typedef int8_t hg_int8_t;
typedef uint8_t hg_uint8_t;
typedef int16_t hg_int16_t;
typedef uint16_t hg_uint16_t;
typedef int32_t hg_int32_t;
typedef uint32_t hg_uint32_t;
typedef int64_t hg_int64_t;
typedef uint64_t hg_uint64_t;

/* An address in memory, of the same width on every machine. */
typedef uint64_t hg_ptr_t;

typedef uint8_t hg_bool_t;
#define HG_TRUE 1
#define HG_FALSE 0

#endif /* MERCURY_CONFIG_H */
