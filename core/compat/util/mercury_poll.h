/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of descriptors that are waited for together. */
#ifndef MERCURY_POLL_H
#define MERCURY_POLL_H

#include "mercury_util_config.h"

typedef struct hg_poll_set hg_poll_set_t;

/* The caller's, given back with each event. */
typedef union hg_poll_data {
    void *ptr;
    int fd;
    uint32_t u32;
    uint64_t u64;
} hg_poll_data_t;

struct hg_poll_event {
    uint32_t events; /* HG_POLLIN and others */
    hg_poll_data_t data;
};

#define HG_POLLIN (1 << 0)   /* can be read */
#define HG_POLLOUT (1 << 1)  /* can be written */
#define HG_POLLERR (1 << 2)  /* has failed; needs not be asked for */
#define HG_POLLHUP (1 << 3)  /* is closed at the far end; likewise */
#define HG_POLLINTR (1 << 4) /* of no descriptor: a signal came */

#ifdef __cplusplus
extern "C" {
#endif

/* Makes an empty set, which hg_poll_destroy frees; NULL: short of a resource. */
HG_UTIL_PUBLIC hg_poll_set_t *hg_poll_create(void);

/* Frees a set. Returns HG_UTIL_SUCCESS, or HG_UTIL_FAIL: descriptors are in it.
 * NULL does nothing. */
HG_UTIL_PUBLIC int hg_poll_destroy(hg_poll_set_t *poll_set);

/* A descriptor that polls as readable while one of the set has an event, for a
 * loop around this one; it stays the set's. HG_UTIL_FAIL: no set. */
HG_UTIL_PUBLIC int hg_poll_get_fd(const hg_poll_set_t *poll_set);

/* Waits for event->events of fd from now on, and gives event->data back with
 * them. Returns HG_UTIL_SUCCESS, or HG_UTIL_FAIL: fd is in the set already, or
 * can't be waited for. [any thread] */
HG_UTIL_PUBLIC int hg_poll_add(
    hg_poll_set_t *poll_set, int fd, struct hg_poll_event *event);

/* Takes fd out of the set, before it is closed. Returns HG_UTIL_SUCCESS, or
 * HG_UTIL_FAIL: it isn't in it. [any thread] */
HG_UTIL_PUBLIC int hg_poll_remove(hg_poll_set_t *poll_set, int fd);

/* Waits for events for at most timeout ms and gives at most max_events of them,
 * *actual_events. Returns HG_UTIL_SUCCESS, with no event if none came in time,
 * or HG_UTIL_FAIL: an argument is wrong. [any thread] */
HG_UTIL_PUBLIC int hg_poll_wait(hg_poll_set_t *poll_set, unsigned int timeout,
    unsigned int max_events, struct hg_poll_event events[],
    unsigned int *actual_events);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_POLL_H */
