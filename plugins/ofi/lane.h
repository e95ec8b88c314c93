/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes. A class that is opened for several contexts has its first endpoint for
 * the first of them, and for all that belongs to none: it is known by that one's
 * name, and its memory is put to and got from there. Each other context has a
 * lane: a class of its own, with an endpoint, a queue of completions and a lock,
 * that speaks in the name of its main class. So contexts do not wait for one
 * another. Peers find a lane by way of the first endpoint, see route.h. */
#ifndef OFI_LANE_H
#define OFI_LANE_H

#include "match.h"
#include "ofi.h"

/* The lane of a context, opened if it was not yet. It stays as long as the class:
 * peers know it. A code, with a line at level ERROR. */
int32_t ofi_lane_open(
    na_plugin_class *main, uint32_t id, na_plugin_class **lane_p);

/* The context of a lane has gone, and others have to advance it; is there
 * (again). */
void ofi_lane_vacated(na_plugin_class *lane);
void ofi_lane_taken(na_plugin_class *lane);

/* When the class is closed, and its first context has gone. */
void ofi_lane_close(na_plugin_class *main, uint32_t id);

/* Calls for a class and all its lanes. */
void ofi_lane_each(na_plugin_class *main,
    void (*visit)(na_plugin_class *cls, void *arg), void *arg);

/* Whether a context of a class has, or had, a lane. */
static inline bool
ofi_lane_is_of(const na_plugin_class *cls, uint32_t id)
{
    return cls->apart &&
           atomic_load_explicit(&cls->lanes[id], memory_order_relaxed) != NULL;
}

/* A message has come to the first endpoint that is for a lane: passes it on, and
 * tells its sender of the lane. True: its rx is still in use. [lock] */
bool ofi_lane_forward(na_plugin_class *main, const struct ofi_message *message);

/* Tries again what could not be passed on. [lock] */
void ofi_lane_retry(na_plugin_class *main);

/* A message to oneself, for a context that is not this class's. DONE, or AGAIN:
 * there is no room for it. [lock] */
int32_t ofi_lane_pass(na_plugin_class *cls, const struct ofi_message *message);

/* Advances the main class, and lanes without a context, where nobody else does
 * just now. Without a lock. */
void ofi_lane_help(na_plugin_class *cls);

/* Sees to it that the main class has somebody who wakes for it, before a context
 * of a lane sleeps, for at most *sleep_ns_p, which it may make shorter. False:
 * it has to poll. [lock] */
bool ofi_lane_guard(na_plugin_ctx *ctx, uint64_t *sleep_ns_p);

#endif /* OFI_LANE_H */
