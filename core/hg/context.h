/* SPDX-License-Identifier: BSD-3-Clause */
/* A context: handles of both roles, and a completion queue. */
#ifndef HG_CONTEXT_H
#define HG_CONTEXT_H

#include "bulk/bulk.h"
#include "hg/class.h"
#include "hg/hold.h"
#include "hg/timer.h"

struct hg_canceled;
struct hg_handle;
struct hg_side;

struct hg_context {
    struct bulk_context bulk; /* first: bulk_context_of */
    struct hg_class *hg_class;
    const struct hg_side *local_side;   /* targets of loopback.c */
    struct base_lock pool_lock;         /* lists and index_next */
    struct na_progress *progress;       /* of all ports */
    LIST_HEAD(, hg_handle) handles;     /* all handles */
    SLIST_HEAD(, hg_handle) free_local; /* targets of loopback.c */
    uint32_t index_next;
    struct hg_timers timers;
    /* cancel_message.c. Messages being sent, under pool_lock. Messages received
     * for requests without a response yet, and the next one to replace, under
     * the progress lock. */
    LIST_HEAD(, hg_cancel_message) cancel_messages;
    struct hg_canceled *canceled;
    unsigned canceled_next;
    _Atomic bool accepting;       /* requests are received */
    _Atomic bool ending;          /* waiting requests get no handle any more */
    _Atomic bool out_of_receives; /* of any port */
    struct hg_port ports[RT_TRANSPORTS];
    unsigned port_count;
    struct base_lock loopback_lock; /* loopback.c: awaited responses */
    _Atomic uint32_t inside; /* threads that use the context for a call that may
                                be over: its destruction waits for them */
    struct hg_holds holds;
    void *data;
    void (*data_free)(void *);
};

_Static_assert(offsetof(struct hg_context, bulk) == 0, "bulk_context_of casts");

static inline struct na_context *
hg_context_na(const struct hg_context *context)
{
    return context->bulk.na_context;
}

static inline void
hg_context_enter(struct hg_context *context)
{
    atomic_fetch_add_explicit(&context->inside, 1, memory_order_relaxed);
}

static inline void
hg_context_leave(struct hg_context *context)
{
    /* Release pairs with the acquire in in_use (api_context.c). */
    atomic_fetch_sub_explicit(&context->inside, 1, memory_order_release);
}

/* Returns the port of a transport; NULL: the context has none for it. */
static inline struct hg_port *
hg_context_port(struct hg_context *context, const struct na_class *na_class)
{
    if (__builtin_expect(na_class == context->ports[RT_MAIN].net.na_class, 1))
        return &context->ports[RT_MAIN];
    if (context->port_count > RT_LOCAL &&
        na_class == context->ports[RT_LOCAL].net.na_class)
        return &context->ports[RT_LOCAL];
    return NULL;
}

/* A receive could not be posted: hg_ports_retry posts it later. */
static inline void
hg_port_postpone(struct hg_context *context, struct hg_port *port)
{
    if (na_context_is_dead(port->na_context))
        return;
    atomic_store_explicit(&port->postponed, true, memory_order_relaxed);
    hg_timers_retry(&context->timers);
}

/* Queues a completion from a thread that is not in progress. */
static inline void
hg_context_complete(
    struct hg_context *context, struct base_completion *completion)
{
    base_completion_push(completion, &context->bulk.completions);
    na_progress_notify(hg_context_na(context)->progress);
}

#endif /* HG_CONTEXT_H */
