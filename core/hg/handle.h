/* SPDX-License-Identifier: BSD-3-Clause */
/* A handle: one RPC at a time, at its origin or its target, with buffers, procs
 * and operations. Allocated as one block: the struct, the send operation, the
 * receive operation. */
#ifndef HG_HANDLE_H
#define HG_HANDLE_H

#include "base/completion.h"
#include "base/same.h"
#include "base/thread.h"
#include "hg/call.h"
#include "hg/class.h"
#include "hg/context.h"
#include "hg/message.h"
#include "na/op.h"
#include "na/peer.h"
#include "na/violation.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

enum hg_role { HG_ROLE_ORIGIN, HG_ROLE_TARGET };

/* Read by threads that unpost or destroy the context. */
enum hg_handle_state {
    HG_HANDLE_FREE,   /* in the pool */
    HG_HANDLE_SPARE,  /* target: without buffers, see refill.h */
    HG_HANDLE_POSTED, /* its receive waits for a request */
    HG_HANDLE_USED
};

/* Special references, in bits above the user's, which are counted: the running
 * handler's; the transport's, to operations of a call completed early; the
 * response's, from its submission until it is sent and its callback has
 * returned. */
#define HG_REF_HANDLER (1 << 30)
#define HG_REF_TRANSPORT (1 << 29)
#define HG_REF_ANSWER (1 << 28)
#define HG_REF_USER (HG_REF_ANSWER - 1)

/* The operations of one side of calls on its handles. Constant. */
struct hg_side {
    enum hg_role role;

    /* Sets the completion functions of the handle's operations. */
    void (*prepare)(struct hg_handle *handle);

    /* Target: a request has arrived in an unused handle. In progress, or in
     * HG_Trigger under the progress lock. */
    void (*take)(struct hg_handle *handle, const na_plugin_event *event);

    /* The last reference was dropped: returns the handle to its pool, or posts
     * its receive again. [any thread] */
    void (*released)(struct hg_handle *handle);

    /* A fetch of extra.c has ended: continues with the request or response. In
     * progress. */
    void (*fetched)(struct hg_handle *handle, hg_return_t ret);

    /* Target: the response's payload was acknowledged, or the wait has ended.
     * In progress. */
    void (*acknowledged)(struct hg_handle *handle);
};

/* Why a call does not take the plain path; UNFIT: why a handle is not forwarded. */
enum {
    HG_SPECIAL_CALLS = 1,       /* checksums, loopback, a deadline */
    HG_SPECIAL_EXTRA = 2,       /* it may have extra payloads */
    HG_SPECIAL_NO_RESPONSE = 4, /* origin: no_response is set */
    HG_SPECIAL_HEADER = 8,      /* origin: the header is not one to renew */
    HG_SPECIAL_UNFIT = 16 /* no RPC or no peer to forward to; any target */
};

struct hg_ack;
struct hg_rendezvous;

struct hg_handle {
    struct base_completion completion;
    struct hg_info info;
    struct hg_context *context;
    struct hg_class *hg_class; /* of the context */
    struct hg_port *port;      /* port of the context, for one transport */
    struct hg_rpc *rpc;        /* NULL: not set, or not registered */
    struct na_op *send;
    struct na_op *recv;
    struct hg_call call;
    union {
        _Atomic int32_t refs; /* the user's count, and HG_REF_* */
        int32_t single_refs;  /* the same, if `single` */
    };
    _Atomic bool
        dropped;     /* target: by talaria_handle_drop, without an answer */
    bool given_back; /* target: the handler called HG_Destroy */
    bool awaiting;   /* a response of loopback.c, under its lock */
    bool single;     /* one thread at a time uses the class */
    const struct hg_side *side;
    enum hg_role role;   /* of the side */
    uint8_t special;     /* HG_SPECIAL_* */
    uintptr_t runner;    /* target: base_thread() of the handler */
    _Atomic int state;   /* enum hg_handle_state */
    bool no_response;    /* of this request */
    bool loopback;       /* origin: a call to oneself */
    bool local;          /* target: of loopback.c, without a receive */
    uint8_t target_id;   /* origin: id of the target's context */
    uint32_t timeout_ms; /* of a forward; 0: none */
    uint32_t index;      /* number in the context, lower bits of tags */
    uint32_t cookie;     /* of this request */
    bool has_header;     /* origin: in.buffer has a header without flags */
    hg_id_t header_id;   /* and that is its RPC */
    uint64_t tag;        /* of the response */
    uint32_t ack_count;  /* target: responses to acknowledge so far */
    /* What a cancel ends, under the progress lock: a fetch for `in` or `out`,
     * or the target's wait for an acknowledgement. */
    _Atomic(struct hg_rendezvous *) fetching;
    _Atomic bool awaiting_ack;
    struct hg_ack *ack; /* of a response with extra payload, or NULL */
    hg_cb_t callback;
    void *arg;
    struct hg_addr peer;
    _Atomic(struct hg_handle *) partner; /* the other side, in loopback.c */
    struct hg_timer timer;
    uint64_t began;                       /* for statistics */
    uint64_t took;                        /* target: time until the response */
    hg_return_t result;                   /* target: code of the response */
    uint32_t lane;                        /* of a trace, see ../watch */
    struct hg_multi_buffer *multi_buffer; /* contains in.buffer, or NULL */
    char *own_buffer;                     /* in.buffer without multi_buffer */
    struct hg_multi_message *multi_message; /* about to be delivered to it */
    struct hg_message in;
    struct hg_message out;
    void *data;
    void (*data_free)(void *);
    LIST_ENTRY(hg_handle) all_next;
    SLIST_ENTRY(hg_handle) free_next;
};

static inline struct hg_handle *
hg_handle_of(struct base_completion *completion)
{
    return (struct hg_handle *) completion;
}

/* Sets or clears one of HG_SPECIAL_*. */
static inline void
hg_handle_set_special(struct hg_handle *handle, uint8_t bit, bool set)
{
    handle->special =
        (uint8_t) (set ? handle->special | bit : handle->special & ~bit);
}

/* Notes HG_SPECIAL_CALLS, after a change of what it depends on. */
static inline void
hg_handle_note_special(struct hg_handle *handle)
{
    hg_handle_set_special(handle, HG_SPECIAL_CALLS,
        handle->loopback || handle->local || handle->timeout_ms > 0 ||
            handle->hg_class->checksum_flags != 0);
}

/* Creates a handle for a side and adds it to the context's list. Runs the
 * user's create callback. */
hg_return_t hg_handle_create(struct hg_context *context, struct hg_port *port,
    const struct hg_side *side, struct hg_handle **handle_p);

/* Gives an unused handle of an origin the buffers of another port. On an error
 * it keeps its buffers. */
hg_return_t hg_handle_change_port(
    struct hg_handle *handle, struct hg_port *port);

/* Frees a handle that is not on the context's list any more. */
void hg_handle_destroy(struct hg_handle *handle);

/* Returns the first of a context's handles. They remain on the list, in order,
 * until the context is destroyed, and new ones are inserted before the first:
 * iterating needs no lock. */
struct hg_handle *hg_pool_first(struct hg_context *context);

/* Takes an origin's handle from the pool, or creates one. */
hg_return_t hg_pool_get(struct hg_context *context, struct hg_port *port,
    const struct hg_side *side, struct hg_handle **handle_p);

/* Returns a handle without references to the pool. */
void hg_pool_put(struct hg_handle *handle);

/* Adds references. */
static inline void
hg_handle_ref(struct hg_handle *handle, int32_t count)
{
    atomic_fetch_add_explicit(&handle->refs, count, memory_order_relaxed);
}

/* Returns whether the handle's handler is running in this thread, and so keeps its
 * reference until this thread returns to it. */
static inline bool
hg_handle_runs_here(const struct hg_handle *handle)
{
    return handle->runner == base_thread() &&
           (atomic_load_explicit(&handle->refs, memory_order_relaxed) &
               HG_REF_HANDLER) != 0;
}

/* Drops references. Returns whether they were the last ones: then the caller
 * calls `released` of the handle's side. */
static inline bool
hg_handle_drop(struct hg_handle *handle, int32_t count)
{
    /* Release and acquire: uses through other references come before the handle
     * is reused. */
    return atomic_fetch_sub_explicit(
               &handle->refs, count, memory_order_acq_rel) == count;
}

/* hg_handle_ref and hg_handle_drop on the path of each call, without an atomic
 * instruction where one thread at a time uses the class. */
static inline __attribute__((always_inline)) void
hg_handle_ref_fast(struct hg_handle *handle)
{
    if (__builtin_expect(handle->single, 0))
        handle->single_refs++;
    else
        hg_handle_ref(handle, 1);
}

static inline __attribute__((always_inline)) bool
hg_handle_drop_fast(struct hg_handle *handle)
{
    return __builtin_expect(handle->single, 0) ? --handle->single_refs == 0
                                               : hg_handle_drop(handle, 1);
}

static inline void
hg_handle_unref(struct hg_handle *handle, int32_t count)
{
    if (hg_handle_drop(handle, count))
        handle->side->released(handle);
}

/* hg_handle_unref for references that are usually the last ones: no other thread
 * can add one then. The count is left as it is: whoever uses the handle next sets
 * it. */
static inline void
hg_handle_unref_last(struct hg_handle *handle, int32_t count)
{
    /* Acquire as in hg_handle_drop. */
    if (atomic_load_explicit(&handle->refs, memory_order_acquire) == count ||
        hg_handle_drop(base_same(handle), count))
        handle->side->released(handle);
}

/* Returns whether a fetch or the wait for an acknowledgement is in progress.
 * The progress lock is held. */
static inline bool
hg_handle_is_transferring(const struct hg_handle *handle)
{
    return atomic_load_explicit(&handle->fetching, memory_order_relaxed) ||
           atomic_load_explicit(&handle->awaiting_ack, memory_order_relaxed);
}

/* Returns whether the user has no reference. */
static inline bool
hg_handle_no_user(const struct hg_handle *handle)
{
    int32_t refs = atomic_load_explicit(&handle->refs, memory_order_relaxed);

    return (refs & HG_REF_USER) == 0;
}

/* Frees the buffers of an unused handle. */
void hg_handle_buffers_free(struct hg_handle *handle);
/* Allocates the buffers of a handle that has none. */
hg_return_t hg_handle_buffers_alloc(struct hg_handle *handle);

/* Returns the number of handles in use, without those that only the transport
 * uses. */
uint32_t hg_pool_used(struct hg_context *context);

/* target_respond.c: queues the user's callback of a response. */
void hg_target_responded(struct hg_handle *handle);

/* target_handler.c: for a context being destroyed. Returns whether a queue entry
 * is the callback of a response, or a request that was not handled. */
bool hg_target_is_last(const struct base_completion *completion);
/* Runs that callback, or answers that request with NODEV. */
void hg_target_run_last(struct base_completion *completion);

/* cancel.c: cancels the handle's call, which ends soon with or without the
 * transport. The progress lock is held. */
void hg_handle_end(struct hg_handle *handle);
/* cancel.c: what a context's timers call. */
extern const struct hg_timer_calls hg_handle_timer_calls;

/* Cancels all responses of a context that are not sent or not acknowledged.
 * Takes the progress lock. */
void hg_answers_end(struct hg_context *context);

/* The `fail` function of a context's progress (na/progress.h): completes the
 * calls that use a dead port. arg: the context. */
void hg_context_fail(void *arg, struct na_context *na_context);

/* Returns how many of the uses that a context's destruction waits for are
 * fetches (api_context.c). Takes the progress lock. */
uint32_t hg_fetches(struct hg_context *context);
/* Ends fetches after the ports of the context were closed, so that they can be
 * freed with their handles. */
void hg_fetches_discard(struct hg_context *context);

/* The transport has completed the last operation of an orphaned forward: one
 * that was completed early, and whose callback has run. [any thread] */
void hg_handle_orphan_ended(struct hg_handle *handle);

/* Returns whether a queue entry is of an orphaned call: it runs no callback of
 * the user. */
bool hg_handle_is_orphan(const struct base_completion *completion);

/* Starts the handle's timer for one call (hg_timer_start). */
static inline hg_return_t
hg_handle_timer_start(
    struct hg_handle *handle, uint32_t generation, uint64_t due)
{
    hg_call_note(&handle->call, HG_CALL_TIMER);
    return hg_timer_start(
        &handle->context->timers, &handle->timer, generation, due);
}

/* Stops it. The flag TIMER may be set although there is no timer. */
static inline void
hg_handle_timer_stop(struct hg_handle *handle)
{
    hg_call_forget(&handle->call, HG_CALL_TIMER);
    hg_timer_stop(&handle->context->timers, &handle->timer);
}

/* Origin: returns whether the receive was cancelled, by a cancel or because the
 * request could not be sent. A message for an earlier request may still
 * complete the receive. In progress. */
static inline bool
hg_handle_is_ending(const struct hg_handle *handle)
{
    return hg_call_word(&handle->call) & HG_CALL_ASKED ||
           hg_call_ret(&handle->call) != HG_SUCCESS;
}

/* A tag consists of the handle's number and a count of its uses, so that a late
 * message does not match the next receive. */
static inline uint64_t
hg_handle_tag(const struct hg_handle *handle, uint32_t use)
{
    const struct hg_net *net = &handle->port->net;

    return ((uint64_t) use << net->index_bits | handle->index) & net->tag_mask;
}

#endif /* HG_HANDLE_H */
