/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When something is to be done about operations that are under way: a deadline
 * of the user's passes, or a cancel was of no avail. One heap per context, the
 * earliest first; na/progress.h calls for what is due.
 */
#ifndef HG_TIMER_H
#define HG_TIMER_H

#include "base/lock.h"
#include "mercury_types.h"

#include <stdbool.h>
#include <stdint.h>

struct hg_context;
struct hg_handle;
struct na_progress;

/* A handle's place in the heap, under the lock. */
struct hg_timer {
    uint64_t due; /* base/time.h */
    uint32_t at;  /* its place plus one; 0: not in the heap */
    uint32_t use; /* of the handle: see hg_handle_use */
    bool asked;   /* its end, once more after the first time */
};

struct hg_timers {
    struct base_lock lock;
    uint32_t count;
    uint32_t capacity;
    struct hg_handle **heap;
    uint64_t retry_due; /* of receives that could not be posted */
};

void hg_timers_init(struct hg_context *context);
void hg_timers_finish(struct hg_context *context);

/* Sets a handle's timer for one use of it, in place of what was set before; not
 * if the use is over and the next one has begun. NOMEM. */
hg_return_t hg_timer_start(
    struct hg_handle *handle, uint32_t use, uint64_t due);

/* Makes progress call hg_target_retry soon. */
void hg_timers_retry(struct hg_context *context);

/* Once it has returned nobody is at work on the handle for its timer's sake. */
void hg_timer_stop(struct hg_handle *handle);

#endif /* HG_TIMER_H */
