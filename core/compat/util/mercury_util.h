/* SPDX-License-Identifier: BSD-3-Clause */
/* The util library as a whole. */
#ifndef MERCURY_UTIL_H
#define MERCURY_UTIL_H

#include "mercury_util_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the util interface that the library offers. A pointer may be
 * null. [any thread] */
HG_UTIL_PUBLIC void HG_Util_version_get(
    unsigned int *major, unsigned int *minor, unsigned int *patch);

/* Sets the level of the program's own outlets, see mercury_log.h: this library
 * logs nothing. HG_Set_log_level sets that of what Talaria logs. [any thread] */
HG_UTIL_PUBLIC void HG_Util_set_log_level(const char *level);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_UTIL_H */
