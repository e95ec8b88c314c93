/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A handle: one RPC at a time, at its origin or at its target, with its buffers,
 * procs and operations. One block: the struct, the sending operation, the
 * receiving one.
 */
#ifndef HG_HANDLE_H
#define HG_HANDLE_H

#include "base/completion.h"
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
    HG_HANDLE_SPARE,  /* target: without buffers, refill.h */
    HG_HANDLE_POSTED, /* its receive waits for a request */
    HG_HANDLE_USED
};

/* References beside the user's, which are counted below them: the handler's while
 * it runs; the transport's, to operations of a call that was completed early;
 * the answer's, from its submission until it is over and its callback has
 * returned. */
#define HG_REF_HANDLER (1 << 30)
#define HG_REF_TRANSPORT (1 << 29)
#define HG_REF_ANSWER (1 << 28)
#define HG_REF_USER (HG_REF_ANSWER - 1)

/* What a side of a call does with its handles. Constant. */
struct hg_side {
    enum hg_role role;

    /* Sets the functions that the ends of the handle's operations call. */
    void (*prepare)(struct hg_handle *handle);

    /* Target: a request has arrived in a handle that nobody uses. In progress,
     * or in HG_Trigger under the lock of progress. */
    void (*take)(struct hg_handle *handle, const na_plugin_event *event);

    /* The last reference is gone: returns the handle to its pool, or posts its
     * receive again. [any thread] */
    void (*released)(struct hg_handle *handle);

    /* A fetch of extra.c has ended: continues with the request or the answer.
     * In progress. */
    void (*fetched)(struct hg_handle *handle, hg_return_t ret);

    /* Target: the payload of the answer is acknowledged, or will not be. In
     * progress. */
    void (*acknowledged)(struct hg_handle *handle);
};

struct hg_ack;
struct hg_rendezvous;

struct hg_handle {
    struct base_completion completion;
    struct hg_info info;
    struct hg_context *context;
    struct hg_port *port; /* of the context: its transport */
    struct hg_rpc *rpc;   /* NULL: none yet, or not known here */
    struct na_op *send;
    struct na_op *recv;
    struct hg_call call;
    _Atomic int32_t refs; /* the user's, and HG_REF_* */
    _Atomic bool
        dropped;     /* target: by talaria_handle_drop, without an answer */
    bool given_back; /* target: by its handler, HG_Destroy */
    bool awaiting;   /* an answer from loopback.c, under its lock */
    const struct hg_side *side;
    enum hg_role role;   /* the side's */
    const void *runner;  /* target: hg_handle_thread of its handler's thread */
    _Atomic int state;   /* enum hg_handle_state */
    bool no_response;    /* of this request */
    bool loopback;       /* origin: the peer is reached without the transport */
    bool local;          /* target: of loopback.c, no receive is posted */
    uint8_t target_id;   /* origin: the target's context */
    uint32_t timeout_ms; /* of a forward; 0: none */
    uint32_t index;      /* in its context, the lower bits of its tags */
    uint32_t cookie;     /* of this request */
    uint64_t tag;        /* of the answer */
    uint32_t ack_count;  /* target: answers that were to be acknowledged */
    /* What a cancel ends, under the lock of progress: a fetch for `in` or `out`,
     * or a target's waiting for the acknowledgement. */
    _Atomic(struct hg_rendezvous *) fetching;
    _Atomic bool awaiting_ack;
    struct hg_ack *ack; /* of an answer with an extra payload, or NULL */
    hg_cb_t callback;
    void *arg;
    struct hg_addr peer;
    _Atomic(struct hg_handle *) partner; /* the other side, in loopback.c */
    struct hg_timer timer;
    uint64_t began;                         /* for statistics; and of the */
    uint64_t took;                          /* answer: after how long, and */
    hg_return_t result;                     /* with which code it was sent */
    struct hg_multi_buffer *multi_buffer;   /* that in.buffer is part of */
    char *own_buffer;                       /* in.buffer otherwise, then */
    struct hg_multi_message *multi_message; /* that it is about to get */
    struct hg_message in;
    struct hg_message out;
    void *data;
    void (*data_free)(void *);
    LIST_ENTRY(hg_handle) all_next;
    SLIST_ENTRY(hg_handle) free_next;
};

/* Its address tells threads apart. Initial-exec: no call to find it. */
extern _Thread_local char hg_handle_thread
    __attribute__((tls_model("initial-exec")));

static inline struct hg_handle *
hg_handle_of(struct base_completion *completion)
{
    return (struct hg_handle *) completion;
}

/* The context that the handle's operations go through. */
static inline const struct na_context *
hg_handle_na(const struct hg_handle *handle)
{
    return handle->port->na_context;
}

/* Makes a handle for a side and puts it on the context's list. Runs the user's
 * create callback. */
hg_return_t hg_handle_create(struct hg_context *context, struct hg_port *port,
    const struct hg_side *side, struct hg_handle **handle_p);

/* Gives an origin's handle, which nothing uses, buffers of another port. On an
 * error it keeps those that it has. */
hg_return_t hg_handle_change_port(
    struct hg_handle *handle, struct hg_port *port);

/* The end of its memory; it is not on the context's list any more. */
void hg_handle_destroy(struct hg_handle *handle);

/* The first of a context's handles. They stay, in their order, until the
 * context ends, and new ones come before the first: going through them takes no
 * lock. */
struct hg_handle *hg_pool_first(struct hg_context *context);

/* Takes an origin's handle from the pool, or makes one. */
hg_return_t hg_pool_get(struct hg_context *context, struct hg_port *port,
    const struct hg_side *side, struct hg_handle **handle_p);

/* Gives one back, which nobody refers to. */
void hg_pool_put(struct hg_handle *handle);

/* Adds references; drops them, and with the last one gives the handle to its
 * side. */
static inline void
hg_handle_ref(struct hg_handle *handle, int32_t count)
{
    atomic_fetch_add_explicit(&handle->refs, count, memory_order_relaxed);
}

static inline void
hg_handle_unref(struct hg_handle *handle, int32_t count)
{
    /* Release and acquire: what was done through the other references comes
     * before the handle is used anew. */
    if (atomic_fetch_sub_explicit(&handle->refs, count, memory_order_acq_rel) ==
        count)
        handle->side->released(handle);
}

/* A fetch or an acknowledgement is under way. The lock of progress is held. */
static inline bool
hg_handle_moves(const struct hg_handle *handle)
{
    return atomic_load_explicit(&handle->fetching, memory_order_relaxed) ||
           atomic_load_explicit(&handle->awaiting_ack, memory_order_relaxed);
}

/* The user has no reference. */
static inline bool
hg_handle_no_user(const struct hg_handle *handle)
{
    int32_t refs = atomic_load_explicit(&handle->refs, memory_order_relaxed);

    return (refs & HG_REF_USER) == 0;
}

/* Frees the buffers of a handle that nothing uses, and makes them anew. */
void hg_handle_buffers_free(struct hg_handle *handle);
hg_return_t hg_handle_buffers_alloc(struct hg_handle *handle);

/* Handles that are in use, but for those that only the transport uses. */
uint32_t hg_pool_used(struct hg_context *context);

/* target.c: the answer's end is queued for the user's callback. */
void hg_target_responded(struct hg_handle *handle);

/* target.c: whether an entry of the queue, of a context that is being destroyed,
 * is the callback of an answer, or a request that was not handled; runs the one,
 * and answers the other with NODEV. */
bool hg_target_is_last(const struct base_completion *completion);
void hg_target_run_last(struct base_completion *completion);

/* cancel.c: makes what is under way end soon, with or without the transport; the
 * lock of progress is held. What a context does when timers are due. */
void hg_handle_end(struct hg_handle *handle);
extern const struct hg_timer_calls hg_handle_timer_calls;

/* Likewise, for all answers of a context: those that are to be acknowledged, and
 * those that the transport has not sent. Takes that lock. */
void hg_answers_end(struct hg_context *context);

/* fail of a context's progress (na/progress.h): completes what goes through a
 * port that is dead. arg: the context. */
void hg_context_fail(void *arg, struct na_context *na_context);

/* What of a context in use (context.c) are arguments that are being fetched.
 * Takes that lock. discard: the ports of the context are closed; ends that, to be
 * freed with its handles. */
uint32_t hg_fetches(struct hg_context *context);
void hg_fetches_discard(struct hg_context *context);

/* The transport has ended the last operation of a forward that was completed
 * early, and whose callback has run. [any thread] */
void hg_handle_orphan_ended(struct hg_handle *handle);

/* Whether an entry of the queue is of that: it runs no callback. */
bool hg_handle_is_orphan(const struct base_completion *completion);

/* The handle's timer, for one call: see hg_timer_start and hg_timer_stop. The
 * note TIMER may be out of date: then there is no timer to stop. */
static inline hg_return_t
hg_handle_timer_start(
    struct hg_handle *handle, uint32_t generation, uint64_t due)
{
    hg_call_note(&handle->call, HG_CALL_TIMER);
    return hg_timer_start(
        &handle->context->timers, &handle->timer, generation, due);
}

static inline void
hg_handle_timer_stop(struct hg_handle *handle)
{
    hg_call_forget(&handle->call, HG_CALL_TIMER);
    hg_timer_stop(&handle->context->timers, &handle->timer);
}

/* Origin: the end of the receive was asked for, by a cancel or because the request
 * could not be sent. That still holds when an answer to an earlier request took
 * the receive first. In progress. */
static inline bool
hg_handle_is_ending(const struct hg_handle *handle)
{
    return hg_call_word(&handle->call) & HG_CALL_ASKED ||
           hg_call_ret(&handle->call) != HG_SUCCESS;
}

/* A tag is the handle's number and a count of its uses, so that what comes late
 * does not meet the receive for what comes next. */
static inline uint64_t
hg_handle_tag(const struct hg_handle *handle, uint32_t use)
{
    const struct hg_net *net = &handle->port->net;

    return ((uint64_t) use << net->index_bits | handle->index) & net->tag_mask;
}

#endif /* HG_HANDLE_H */
