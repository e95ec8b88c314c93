/* SPDX-License-Identifier: BSD-3-Clause */
/* Intrusive lists and queues: LIST_, SLIST_, STAILQ_ and TAILQ_, as the C
 * library has them. */
#ifndef MERCURY_QUEUE_H
#define MERCURY_QUEUE_H

#include "mercury_util_config.h"

#include <sys/queue.h>

#endif /* MERCURY_QUEUE_H */
