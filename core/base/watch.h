/* SPDX-License-Identifier: BSD-3-Clause */
/* The observers of calls, and the hooks of the library libtalaria-watch, which
 * publishes and traces (watch/watch.h). */
#ifndef BASE_WATCH_H
#define BASE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct hg_handle;
struct bulk_op;

/* Functions that libtalaria-watch provides. Called in any thread, with the
 * core's locks held or not: they call nothing of the core but what
 * hg_watch_core has. */
struct base_watch {
    /* A stage of an observed call; also the failure of any forward, and a
     * response with an error. stage: an enum hg_stage; ret: an hg_return_t. */
    void (*stage)(struct hg_handle *handle, int stage, int ret);
    /* A transfer of the program begins. */
    void (*bulk)(const struct bulk_op *op);
};

/* Number of observers: classes with statistics, the log at level DEBUG,
 * libtalaria-watch, and attached tracers, which increment it as the semaphore
 * of the probes (hg/stage.c). While it is 0 a call is not observed. */
extern _Atomic uint16_t base_observers;

/* The hooks, or NULL. */
extern _Atomic(const struct base_watch *) base_watch;

/* Not 0 if a call is observed. To be combined with other conditions by "|". */
static inline unsigned
base_observed(void)
{
    return atomic_load_explicit(&base_observers, memory_order_relaxed);
}

static inline bool
base_is_observed(void)
{
    return base_observed() != 0;
}

static inline void
base_observe(int change)
{
    atomic_fetch_add_explicit(
        &base_observers, (uint16_t) change, memory_order_relaxed);
}

static inline const struct base_watch *
base_watch_get(void)
{
    /* Acquire pairs with the release in libtalaria-watch. */
    return atomic_load_explicit(&base_watch, memory_order_acquire);
}

#endif /* BASE_WATCH_H */
