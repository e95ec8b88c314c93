/* SPDX-License-Identifier: BSD-3-Clause */
/* A context: its handles, in both roles, and its completion queue. */
#ifndef HG_CONTEXT_H
#define HG_CONTEXT_H

#include "bulk/bulk.h"
#include "hg/class.h"
#include "hg/timer.h"

struct hg_handle;

struct hg_context {
    struct bulk_context bulk; /* first: bulk_context_of */
    struct hg_class *hg_class;
    struct base_lock pool_lock;           /* the lists, index_next */
    LIST_HEAD(, hg_handle) handles;       /* all of them */
    SLIST_HEAD(, hg_handle) free_handles; /* origin's, to be used again */
    SLIST_HEAD(, hg_handle) free_local;   /* loopback.c's, likewise */
    uint32_t index_next;
    struct hg_timers timers;
    _Atomic bool accepting;  /* requests are received */
    uint32_t taken;          /* receives that got a message; in progress */
    _Atomic uint32_t posted; /* receives that were ever posted */
    _Atomic bool starving;   /* none is posted any more, or: */
    _Atomic bool postponed;  /* one could not be posted again */
    LIST_ENTRY(hg_context) loopback_next;
    bool listed;               /* in the class's loopback.contexts */
    _Atomic uint32_t visitors; /* threads that bring a message */
    void *data;
    void (*data_free)(void *);
};

_Static_assert(offsetof(struct hg_context, bulk) == 0, "bulk_context_of casts");

static inline struct na_context *
hg_context_na(const struct hg_context *context)
{
    return context->bulk.na_context;
}

/* Queues a completion from a thread that is not in progress. */
static inline void
hg_context_complete(
    struct hg_context *context, struct base_completion *completion)
{
    base_completion_push(&context->bulk.completions, completion);
    na_progress_notify(hg_context_na(context)->progress);
}

#endif /* HG_CONTEXT_H */
