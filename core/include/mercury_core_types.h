/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs that include the types of mercury_types.h by this name. The
 * functions HG_Core_* are not provided. */
#ifndef MERCURY_CORE_TYPES_H
#define MERCURY_CORE_TYPES_H

#include "mercury_types.h"

#endif /* MERCURY_CORE_TYPES_H */
