/* SPDX-License-Identifier: BSD-3-Clause */
/* MIN, MAX and powerof2, as the C library has them. */
#ifndef MERCURY_PARAM_H
#define MERCURY_PARAM_H

#include "mercury_util_config.h"

#include <sys/param.h>

#endif /* MERCURY_PARAM_H */
