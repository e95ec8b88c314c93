/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that a thread sets and another waits for by a descriptor, which polls
 * as readable while the event is set. */
#ifndef MERCURY_EVENT_H
#define MERCURY_EVENT_H

#include "mercury_util_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes an event that isn't set. Returns its descriptor, or HG_UTIL_FAIL. */
HG_UTIL_PUBLIC int hg_event_create(void);

/* Frees an event. Returns HG_UTIL_SUCCESS, or HG_UTIL_FAIL: no descriptor. */
HG_UTIL_PUBLIC int hg_event_destroy(int fd);

/* Sets an event. Returns HG_UTIL_SUCCESS, or HG_UTIL_FAIL. [any thread] */
HG_UTIL_PUBLIC int hg_event_set(int fd);

/* Clears an event; *notified: whether it was set. Returns HG_UTIL_SUCCESS, or
 * HG_UTIL_FAIL. [any thread] */
HG_UTIL_PUBLIC int hg_event_get(int fd, bool *notified);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_EVENT_H */
