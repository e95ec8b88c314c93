/* SPDX-License-Identifier: BSD-3-Clause */
/* What every NA header needs: the version of the interface, standard types, and
 * how functions are exported. */
#ifndef NA_CONFIG_H
#define NA_CONFIG_H

#include "mercury_compiler_attributes.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Version of the NA interface, not of Talaria. */
#define NA_VERSION_MAJOR 6
#define NA_VERSION_MINOR 0
#define NA_VERSION_PATCH 0

/* Set on each public function. The shared library is built with every other
 * symbol hidden. The static library exports nothing. */
#ifdef TALARIA_BUILD_SHARED
#define NA_PUBLIC __attribute__((visibility("default")))
#else
#define NA_PUBLIC
#endif

/* For programs that use these names: a symbol hidden outside its library, and
 * one that may be unused. */
#define NA_PRIVATE __attribute__((visibility("hidden")))
#define NA_UNUSED __attribute__((unused))

#ifndef NA_INLINE
#define NA_INLINE inline
#endif

#endif /* NA_CONFIG_H */
