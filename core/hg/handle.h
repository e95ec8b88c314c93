/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A handle: one RPC at a time, at its origin or at its target, with its buffers,
 * procs and operations. One block: the struct, the sending operation, the
 * receiving one.
 */
#ifndef HG_HANDLE_H
#define HG_HANDLE_H

#include "base/completion.h"
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

/* Where a handle is; for who destroys or unposts a context. */
enum hg_place {
    HG_PLACE_FREE,   /* in the pool */
    HG_PLACE_SPARE,  /* target: without buffers, refill.h */
    HG_PLACE_POSTED, /* its receive waits for a request */
    HG_PLACE_USED
};

/* In refs: the handler runs, and the handle stays until it has returned; the
 * transport still has something of a handle that was finished without it; the
 * answer is on its way. */
#define HG_HANDLE_IN_HANDLER (1 << 30)
#define HG_HANDLE_ASIDE (1 << 29)
#define HG_HANDLE_RESPONDING (1 << 28)

/* In parts: what of a forward still has to end. DETACHED: its callback does not
 * wait for the others, but is one of them. Above it the number of the forward,
 * so that who means one does not meet the next. */
#define HG_PART_SEND 0x1U
#define HG_PART_RECV 0x2U
#define HG_PART_CALLBACK 0x4U
#define HG_PART_DETACHED 0x8U
#define HG_PART_MASK 0xfU
#define HG_PART_SHIFT 4

/* In responded: not yet; nothing more to say; without a callback; with one, which
 * was not run yet. */
#define HG_RESPONDED_NOT 0U
#define HG_RESPONDED_OVER 1U
#define HG_RESPONDED_SILENT 2U
#define HG_RESPONDED_CALLBACK 3U

/* In watch: the timer may be set; it is counted. */
#define HG_WATCH_TIMER 0x1U
#define HG_WATCH_STATS 0x2U

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

    /* A fetch of overflow.c has ended: continues with the request or the answer.
     * In progress. */
    void (*fetched)(struct hg_handle *handle, hg_return_t ret);

    /* Target: the payload of the answer is acknowledged, or will not be. In
     * progress. */
    void (*acknowledged)(struct hg_handle *handle);
};

struct hg_overflow;

struct hg_handle {
    struct base_completion completion;
    struct hg_info info;
    struct hg_context *context;
    struct hg_port *port; /* of the context: its transport */
    struct hg_rpc *rpc;   /* NULL: none yet, or not known here */
    struct na_op *send;
    struct na_op *recv;
    _Atomic int32_t refs;      /* the user's, and HG_HANDLE_* */
    _Atomic uint32_t parts;    /* of a forward, HG_PART_* */
    _Atomic int32_t ret;       /* how it went so far, an hg_return_t */
    _Atomic bool in_flight;    /* a forward is not over */
    _Atomic uint8_t watch;     /* HG_WATCH_*: what its end is to be told */
    _Atomic uint8_t responded; /* HG_RESPONDED_* */
    _Atomic bool dropped;      /* or talaria_handle_drop, instead */
    bool given_back;           /* target: by its handler, HG_Destroy */
    _Atomic uint32_t canceled; /* the use whose end was asked for, as of
                                  hg_handle_asked; 0: none */
    bool awaiting;             /* an answer from loopback.c, under its lock */
    const struct hg_side *side;
    enum hg_role role;   /* the side's */
    const void *runner;  /* target: hg_handle_thread of its handler's thread */
    _Atomic int place;   /* enum hg_place */
    bool no_response;    /* of this request */
    uint8_t fate;        /* origin: of the request, abandon.h */
    bool loopback;       /* origin: the peer is reached without the transport */
    bool local;          /* target: of loopback.c, no receive is posted */
    uint8_t target_id;   /* origin: the target's context */
    uint32_t timeout_ms; /* of a forward; 0: none */
    uint32_t index;      /* in its context, the lower bits of its tags */
    uint32_t cookie;     /* of this request */
    uint64_t tag;        /* of the answer */
    uint32_t ack_count;  /* target: answers that were to be acknowledged */
    /* What a cancel ends of in.overflow or out.overflow; under the lock of
     * progress. */
    _Atomic(struct hg_overflow *) moving;
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

/* One reference more; some less, with the last one the handle's side has it. */
static inline void
hg_handle_ref(struct hg_handle *handle)
{
    atomic_fetch_add_explicit(&handle->refs, 1, memory_order_relaxed);
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

/* The user has no reference; RESPONDING stands for one while it lasts. */
static inline bool
hg_handle_no_user(const struct hg_handle *handle)
{
    int32_t refs = atomic_load_explicit(&handle->refs, memory_order_relaxed);

    return (refs & (HG_HANDLE_RESPONDING - 1)) == 0;
}

/* Frees the buffers of a handle that nothing uses, and makes them anew. */
void hg_handle_buffers_free(struct hg_handle *handle);
hg_return_t hg_handle_buffers_alloc(struct hg_handle *handle);

/* Handles that are in use, but for those that only the transport uses. */
uint32_t hg_pool_used(struct hg_context *context);

/* target.c: posts the receive of a handle; posts again what could not be posted,
 * in progress; asks for the end of all posted receives. */
hg_return_t hg_target_post(struct hg_handle *handle);
void hg_target_retry(struct hg_context *context);
void hg_target_unpost(struct hg_context *context);

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

/* The transport has ended the last operation of a forward that did not wait for
 * it. [any thread] */
void hg_handle_aside_ended(struct hg_handle *handle);

/* Whether an entry of the queue is of that: it runs no callback. */
bool hg_handle_is_aside(const struct base_completion *completion);

/* Which use of a handle this is. */
static inline uint32_t
hg_handle_use(const struct hg_handle *handle)
{
    return atomic_load_explicit(&handle->parts, memory_order_relaxed) >>
           HG_PART_SHIFT;
}

/* The handle's timer, for one use of it: see hg_timer_start and hg_timer_stop.
 * What the bit in watch says may be out of date: then there is no timer to
 * stop. */
static inline hg_return_t
hg_handle_timer_start(struct hg_handle *handle, uint32_t use, uint64_t due)
{
    atomic_fetch_or_explicit(
        &handle->watch, HG_WATCH_TIMER, memory_order_relaxed);
    return hg_timer_start(&handle->context->timers, &handle->timer, use, due);
}

static inline void
hg_handle_timer_stop(struct hg_handle *handle)
{
    atomic_fetch_and_explicit(
        &handle->watch, (uint8_t) ~HG_WATCH_TIMER, memory_order_relaxed);
    hg_timer_stop(&handle->context->timers, &handle->timer);
}

/* What canceled is once the end of a use was asked for. */
static inline uint32_t
hg_handle_asked(uint32_t use)
{
    return use << 1 | 1;
}

/* Origin: the end of the receive was asked for, by a cancel or because the request
 * could not be sent. That still holds when an answer to an earlier request took
 * the receive first. In progress. */
static inline bool
hg_handle_is_ending(const struct hg_handle *handle)
{
    return atomic_load_explicit(&handle->canceled, memory_order_relaxed) ==
               hg_handle_asked(hg_handle_use(handle)) ||
           atomic_load_explicit(&handle->ret, memory_order_relaxed) !=
               HG_SUCCESS;
}

/* A tag is the handle's number and a count of its uses, so that what comes late
 * does not meet the receive for what comes next. */
static inline uint64_t
hg_handle_tag(const struct hg_handle *handle, uint32_t use)
{
    const struct hg_net *net = &handle->port->net;

    return ((uint64_t) use << net->index_bits | handle->index) & net->tag_mask;
}

/* The first error counts. */
static inline void
hg_handle_record(struct hg_handle *handle, hg_return_t ret)
{
    int32_t none = HG_SUCCESS;

    if (ret != HG_SUCCESS)
        atomic_compare_exchange_strong_explicit(&handle->ret, &none,
            (int32_t) ret, memory_order_relaxed, memory_order_relaxed);
}

#endif /* HG_HANDLE_H */
