/* SPDX-License-Identifier: BSD-3-Clause */
/* A context: a completion queue of a class, and its progress. */
#ifndef NA_CONTEXT_H
#define NA_CONTEXT_H

#include "base/completion.h"
#include "na/class.h"

struct na_progress;

struct na_context {
    struct na_class *na_class;
    /* The operations of the class; stubs that fail in a dead context. */
    const na_plugin_ops *_Atomic ops;
    na_plugin_ctx *plugin_ctx;
    struct na_progress
        *progress; /* its own, or that of the context it was added to */
    struct base_completion_queue completions; /* of the NA interface */
    _Atomic uint32_t pending; /* operations of the NA interface */
    _Atomic int32_t dead;     /* NA_SUCCESS: alive; else the reason */
    uint8_t id;
    /* The leader of its progress sleeps, and na_progress_caller_runs wakes it.
     */
    _Atomic bool wakes_early;
    int wait_fd; /* -1: the plugin cannot wait */
    struct na_progress *own_progress;
    /* Completes pending operations of the NA interface in a dead context. In
     * progress. */
    void (*fail)(struct na_context *context);
};

static inline const na_plugin_ops *
na_context_ops(const struct na_context *context)
{
    return atomic_load_explicit(&context->ops, memory_order_relaxed);
}

static inline bool
na_context_is_dead(const struct na_context *context)
{
    return atomic_load_explicit(&context->dead, memory_order_relaxed) !=
           NA_SUCCESS;
}

/* violation.c: marks a context as dead. The plugin's context gets no call any
 * more but ctx_destroy; the next poll completes pending operations with
 * IO_ERROR. Returns false if it was dead before. [any thread] */
bool na_context_die(struct na_context *context, na_return_t why);

#endif /* NA_CONTEXT_H */
