/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs that include it by the name of older versions: LIST_ of
 * mercury_queue.h. */
#ifndef MERCURY_LIST_H
#define MERCURY_LIST_H

#include "mercury_queue.h"

#endif /* MERCURY_LIST_H */
