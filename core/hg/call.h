/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a call on one side: one atomic word, changed by events. This
 * file knows neither handles nor transports: the caller acts on the result of
 * an event.
 *
 * The bits of a phase, one letter each: `s` SEND and `r` RECV, operations that
 * the transport owns; `c` CALLBACK, not run yet; `e` EARLY, completed before
 * the transport has completed its operations; `k` CLAIMED, a response was
 * begun; `o` OVER, the response is sent. In the tables `=` keeps the phase, and
 * `!` refuses the event. A capital letter after a phase is the result: (Q)ueue
 * the callback, (E)nded without a callback, (R)eleased by the transport,
 * (A)sked to cancel for the first time. UNSENT changes a phase as SENT does,
 * UNANSWERED as RECEIVED does; CLAIM_CALLBACK does what CLAIM does and adds
 * `c`. test/unit/test_call.c reads these tables and tests each entry.
 *
 * origin           phase SENT RECEIVED REVOKED CANCEL EARLY CALLED
 * idle             -     !    !        !       =      =     !
 * started          src   rc   sc       -E      srcA   srceQ !
 *   request sent   rc    !    cQ       -E      rcA    rceQ  !
 *   answered       sc    cQ   !        -E      scA    sceQ  !
 * queued           c     !    !        !       =      =     -
 * completed early  srce  rce  sce      ce      =      =     sre
 *   request sent   rce   !    ce       ce      =      =     re
 *   answered       sce   ce   !        ce      =      =     se
 *   ended          ce    !    !        !       =      =     eR
 * orphaned         sre   re   se       eR      =      =     !
 *   request sent   re    !    eR       eR      =      =     !
 *   answered       se    eR   !        eR      =      =     !
 * released         e     !    !        !       =      =     !
 *
 * target           phase CLAIM PENDING ANSWERED REVOKED CANCEL EARLY CALLED
 * open             -     k     !       !        !       =      =     !
 * claimed          k     !     sk      ko       -       =      =     !
 *   with callback  ck    !     sck     cko      -       =      =     !
 * pending          sk    !     !       koE      kE      skA    sekE  !
 *   with callback  sck   !     !       ckoQ     ckE     sckA   scekQ !
 * queued           cko   !     =Q      !        !       =      =     ko
 * over             ko    !     =E      !        !       =      =     !
 * completed early  sek   !     !       ekoR     ekoR    =      =     !
 *   with callback  scek  !     !       ceko     ceko    =      =     sek
 *   ended          ceko  !     !       !        !       =      =     ekoR
 * released         eko   !     !       !        !       =      =     !
 *
 * hg_call_begin changes idle to started, or with one thread to "request sent",
 * which hg_call_begun_unsent changes to started; hg_call_reset changes released to
 * idle; hg_call_open any phase of a target in which the transport owns nothing to
 * open. A response may be OVER before its submission has returned PENDING.
 */
#ifndef HG_CALL_H
#define HG_CALL_H

#include "mercury_core_types.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The phase. */
#define HG_CALL_SEND 0x1U
#define HG_CALL_RECV 0x2U
#define HG_CALL_CALLBACK 0x4U
#define HG_CALL_EARLY 0x8U
#define HG_CALL_CLAIMED 0x10U
#define HG_CALL_OVER 0x20U
#define HG_CALL_PHASE 0x3fU

/* Flags beside the phase: cancelled; origin: the request was not sent, was
 * answered, a cancel message was sent; the timer may be set; statistics or logs
 * observe the call. */
#define HG_CALL_ASKED 0x40U
#define HG_CALL_IS_UNSENT 0x80U
#define HG_CALL_IS_ANSWERED 0x100U
#define HG_CALL_NOTIFIED 0x200U
#define HG_CALL_TIMER 0x400U
#define HG_CALL_OBSERVED 0x800U

/* The upper bits are the generation: the number of the call, so that an event
 * for one call does not change the next. */
#define HG_CALL_SHIFT 12
#define HG_CALL_LOW ((1U << HG_CALL_SHIFT) - 1)

enum hg_call_event {
    HG_CALL_ON_SENT,
    HG_CALL_ON_UNSENT,
    HG_CALL_ON_RECEIVED,
    HG_CALL_ON_UNANSWERED,     /* the receive has ended without a response */
    HG_CALL_ON_REVOKED,        /* the remaining operations were not submitted */
    HG_CALL_ON_CANCEL,         /* also a deadline */
    HG_CALL_ON_EARLY,          /* completed without waiting for the transport */
    HG_CALL_ON_CALLED,         /* the callback is about to run */
    HG_CALL_ON_CLAIM,          /* target: a response is begun, */
    HG_CALL_ON_CLAIM_CALLBACK, /* with a callback; */
    HG_CALL_ON_PENDING,        /* the transport owns the response; */
    HG_CALL_ON_ANSWERED        /* it was sent, or failed */
};

enum hg_call_result {
    HG_CALL_REFUSED, /* unchanged */
    HG_CALL_NOTHING,
    HG_CALL_QUEUE,    /* the caller queues the callback */
    HG_CALL_ENDED,    /* without a callback */
    HG_CALL_RELEASED, /* the transport owns no operation any more */
    HG_CALL_FIRST,    /* cancel: the caller cancels the operations */
    HG_CALL_AGAIN     /* cancel: they were cancelled before */
};

struct hg_call {
    union {
        struct {
            _Atomic uint32_t word;
            _Atomic int32_t ret; /* the first error, an hg_return_t */
        };
        _Atomic uint64_t both;
    };
};

static inline uint32_t
hg_call_word(const struct hg_call *call)
{
    return atomic_load_explicit(&call->word, memory_order_relaxed);
}

/* Sets the word, and no error, by one store. */
static inline void
hg_call_set(struct hg_call *call, uint32_t word, memory_order order)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    atomic_store_explicit(&call->both, word, order);
#else
    atomic_store_explicit(&call->both, (uint64_t) word << 32, order);
#endif
}

/* Returns whether the stages of the call are observed, see stage.h. */
static inline bool
hg_call_is_observed(const struct hg_call *call)
{
    return hg_call_word(call) & HG_CALL_OBSERVED;
}

static inline uint32_t
hg_call_generation(const struct hg_call *call)
{
    return hg_call_word(call) >> HG_CALL_SHIFT;
}

/* Returns whether no operation is in progress or owned by the transport. */
static inline bool
hg_call_is_idle(const struct hg_call *call)
{
    /* Acquire pairs with the release in hg_call_reset and hg_call_event_rare.
     */
    return (atomic_load_explicit(&call->word, memory_order_acquire) &
               HG_CALL_PHASE) == 0;
}

/* Origin: its operations are about to be submitted. No other thread changes the
 * word of an idle call. */
static inline void
hg_call_begin(struct hg_call *call, uint32_t number, uint32_t operations)
{
    /* Release pairs with the acquire in hg_call_event_rare. */
    hg_call_set(call, number << HG_CALL_SHIFT | operations | HG_CALL_CALLBACK,
        memory_order_release);
}

/* Origin, with one thread: the request of a call that was begun without SEND is not
 * sent yet. */
static inline void
hg_call_begun_unsent(struct hg_call *call)
{
    atomic_store_explicit(
        &call->word, hg_call_word(call) | HG_CALL_SEND, memory_order_relaxed);
}

/* Origin: ends the send operation of a call to oneself that has a response: it
 * waits for that only. */
static inline void
hg_call_begin_sent(struct hg_call *call)
{
    atomic_fetch_sub_explicit(&call->word, HG_CALL_SEND, memory_order_relaxed);
}

/* Target: does what ANSWERED does to a response that is claimed and was never
 * pending. No other thread changes the word of a claimed call. */
static inline void
hg_call_answered(struct hg_call *call)
{
    /* Release pairs with the acquire in references_of_target (api_handle.c). */
    atomic_store_explicit(
        &call->word, hg_call_word(call) | HG_CALL_OVER, memory_order_release);
}

/* Origin: changes released to idle; also queued to idle, as CALLED does, for a
 * callback that is queued in that phase only. */
static inline void
hg_call_reset(struct hg_call *call)
{
    /* Release pairs with the acquire in hg_call_is_idle. */
    atomic_store_explicit(&call->word,
        hg_call_word(call) >> HG_CALL_SHIFT << HG_CALL_SHIFT,
        memory_order_release);
}

/* Target: ready for a request. */
static inline void
hg_call_open(struct hg_call *call)
{
    hg_call_set(call, 0, memory_order_relaxed);
}

/* Sets flags, or clears them. [any thread] */
static inline void
hg_call_note(struct hg_call *call, uint32_t notes)
{
    atomic_fetch_or_explicit(&call->word, notes, memory_order_relaxed);
}

static inline void
hg_call_forget(struct hg_call *call, uint32_t notes)
{
    atomic_fetch_and_explicit(&call->word, ~notes, memory_order_relaxed);
}

/* The slow path of an operation's end, when it changes the phase in an unusual
 * way. before: the word before it. */
enum hg_call_result hg_call_ended_rare(
    struct hg_call *call, uint32_t before, uint32_t operation, uint32_t note);

/* The slow path of hg_call_event: events that are rare in successful calls. */
enum hg_call_result hg_call_event_rare(
    struct hg_call *call, enum hg_call_event event, uint32_t generation);

/* Ends an operation; returns the word before. */
static inline uint32_t
hg_call_end(struct hg_call *call, uint32_t operation, uint32_t note)
{
    /* Release: what this operation did comes before the end of the call;
     * acquire: what the other operation did as well. */
    return atomic_fetch_sub_explicit(
        &call->word, operation - note, memory_order_acq_rel);
}

/* The result of the end of an operation, by the word before. */
static inline __attribute__((always_inline)) enum hg_call_result
hg_call_end_result(
    struct hg_call *call, uint32_t before, uint32_t operation, uint32_t note)
{
    uint32_t left =
        (before - operation) &
        (HG_CALL_SEND | HG_CALL_RECV | HG_CALL_CALLBACK | HG_CALL_EARLY);

    if (left == HG_CALL_CALLBACK)
        return HG_CALL_QUEUE;
    if (__builtin_expect(
            (before & (operation | HG_CALL_EARLY)) != operation, 0))
        return hg_call_ended_rare(call, before, operation, note);
    return HG_CALL_NOTHING;
}

static inline __attribute__((always_inline)) enum hg_call_result
hg_call_ended(struct hg_call *call, uint32_t operation, uint32_t note)
{
    return hg_call_end_result(
        call, hg_call_end(call, operation, note), operation, note);
}

/* Changes the word from one value to another; false: it has a third one. single:
 * one thread at a time uses the call, and no atomic instruction is needed. */
static inline __attribute__((always_inline)) bool
hg_call_exchange(struct hg_call *call, uint32_t from, uint32_t to,
    memory_order order, bool single)
{
    if (__builtin_expect(!single, 1))
        return atomic_compare_exchange_strong_explicit(
            &call->word, &from, to, order, memory_order_relaxed);
    if (hg_call_word(call) != from)
        return false;
    atomic_store_explicit(&call->word, to, memory_order_relaxed);
    return true;
}

/* Origin: does what SENT does to a call that hg_call_begin began with this
 * number and both operations, and that nothing has changed since: most often
 * the request is sent before the response can arrive. False: something has, and
 * this has changed nothing. */
static inline bool
hg_call_sent_first(struct hg_call *call, uint32_t number)
{
    uint32_t begun = number << HG_CALL_SHIFT | HG_CALL_SEND | HG_CALL_RECV |
                     HG_CALL_CALLBACK;

    /* Release: see hg_call_end. */
    return hg_call_exchange(
        call, begun, begun - HG_CALL_SEND, memory_order_release, false);
}

/* Origin: does what RECEIVED does to a call whose request is sent and that has
 * no flags; only progress, under its lock, changes the word of such a call, and
 * for one to oneself hg_loopback_answered, whose race with a cancellation loses
 * that alone: the call ends. The caller queues the callback. False, and nothing is changed: it is another
 * call. */
static inline bool
hg_call_answer_sent(struct hg_call *call)
{
    /* Acquire pairs with the release in hg_call_end and hg_call_sent_first. */
    uint32_t word = atomic_load_explicit(&call->word, memory_order_acquire);

    if ((word & HG_CALL_LOW) != (HG_CALL_RECV | HG_CALL_CALLBACK))
        return false;
    atomic_store_explicit(&call->word,
        word + HG_CALL_IS_ANSWERED - HG_CALL_RECV, memory_order_release);
    return true;
}

/* What CLAIM and CLAIM_CALLBACK do to a phase without flags. claimed: HG_CALL_CLAIMED
 * with or without HG_CALL_CALLBACK. False, and nothing is changed:
 * hg_call_event_rare has to do it. */
static inline bool
hg_call_claim_open(struct hg_call *call, uint32_t claimed, bool single)
{
    return hg_call_exchange(call, 0, claimed, memory_order_relaxed, single);
}

static inline enum hg_call_result
hg_call_claim(struct hg_call *call, enum hg_call_event event, uint32_t callback)
{
    if (__builtin_expect(
            hg_call_claim_open(call, HG_CALL_CLAIMED | callback, false), 1))
        return HG_CALL_NOTHING;
    return hg_call_event_rare(call, event, 0); /* flags are set */
}

/* The operation that an event ends; 0: none. */
static inline uint32_t
hg_call_operation(enum hg_call_event event)
{
    switch (event) {
    case HG_CALL_ON_SENT:
    case HG_CALL_ON_UNSENT:
        return HG_CALL_SEND;
    case HG_CALL_ON_RECEIVED:
    case HG_CALL_ON_UNANSWERED:
        return HG_CALL_RECV;
    default:
        return 0;
    }
}

/* The flag that the end of an operation sets. */
static inline uint32_t
hg_call_outcome(enum hg_call_event event)
{
    switch (event) {
    case HG_CALL_ON_UNSENT:
        return HG_CALL_IS_UNSENT;
    case HG_CALL_ON_RECEIVED:
        return HG_CALL_IS_ANSWERED;
    default:
        return 0;
    }
}

/* Changes the word. generation: the call that CANCEL and EARLY are for; they
 * change no later one. Inline for events that are constants. [any thread] */
static inline __attribute__((always_inline)) enum hg_call_result
hg_call_event(
    struct hg_call *call, enum hg_call_event event, uint32_t generation)
{
    if (hg_call_operation(event) != 0)
        return hg_call_ended(
            call, hg_call_operation(event), hg_call_outcome(event));
    if (event == HG_CALL_ON_CLAIM)
        return hg_call_claim(call, event, 0);
    if (event == HG_CALL_ON_CLAIM_CALLBACK)
        return hg_call_claim(call, event, HG_CALL_CALLBACK);
    return hg_call_event_rare(call, event, generation);
}

/* Keeps the first error of a call. */
static inline void
hg_call_record(struct hg_call *call, hg_return_t ret)
{
    int32_t none = HG_SUCCESS;

    if (ret != HG_SUCCESS)
        atomic_compare_exchange_strong_explicit(&call->ret, &none,
            (int32_t) ret, memory_order_relaxed, memory_order_relaxed);
}

static inline hg_return_t
hg_call_ret(const struct hg_call *call)
{
    return (hg_return_t) atomic_load_explicit(&call->ret, memory_order_relaxed);
}

#endif /* HG_CALL_H */
