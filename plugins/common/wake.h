/* SPDX-License-Identifier: BSD-3-Clause */
/* What na.wait/1 hands out: an epoll set of a library's descriptors and an eventfd
 * of the plugin's own, which one thread writes to wake another that sleeps. The
 * caller locks. */
#ifndef TP_WAKE_H
#define TP_WAKE_H

#include <stdbool.h>
#include <stdint.h>

struct tp_wake {
    int fd;    /* the epoll set, -1: none */
    int event; /* the eventfd in it */
    bool set;  /* it is readable */
};

/* One without descriptors, for which the other functions do nothing. */
#define TP_WAKE_NONE ((struct tp_wake){.fd = -1, .event = -1})

/* Makes the set, with count descriptors that stay the caller's. NOMEM, errno says
 * why; the wake-up is then without descriptors. */
int32_t tp_wake_init(struct tp_wake *wake, const int *fds, uint32_t count);

/* Adds a descriptor later. NOMEM. */
int32_t tp_wake_add(const struct tp_wake *wake, int fd);

void tp_wake_fini(struct tp_wake *wake);

/* Makes the set readable until tp_wake_clear. */
void tp_wake_set(struct tp_wake *wake);
void tp_wake_clear(struct tp_wake *wake);

#endif /* TP_WAKE_H */
