/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that are rare in successful calls. */
#include "hg/call.h"

#include "base/log.h"

#define OPERATIONS (HG_CALL_SEND | HG_CALL_RECV)

/* The word after an event, and the event's result. */
struct step {
    uint32_t word;
    enum hg_call_result result;
};

enum hg_call_result
hg_call_ended_rare(
    struct hg_call *call, uint32_t before, uint32_t operation, uint32_t note)
{
    uint32_t left = before - operation;

    if (!(before & operation)) {
        atomic_fetch_add_explicit(
            &call->word, operation - note, memory_order_relaxed);
        LOG_ERROR(HG, "an operation of a call completed twice");
        return HG_CALL_REFUSED;
    }
    return left & (OPERATIONS | HG_CALL_CALLBACK) ? HG_CALL_NOTHING
                                                  : HG_CALL_RELEASED;
}

static struct step
origin_revoked(uint32_t word)
{
    uint32_t left = word & ~OPERATIONS;

    if (left == word)
        return (struct step){word, HG_CALL_REFUSED};
    if (!(word & HG_CALL_EARLY))
        return (struct step){left & ~HG_CALL_CALLBACK, HG_CALL_ENDED};
    return (struct step){left | HG_CALL_IS_UNSENT,
        left & HG_CALL_CALLBACK ? HG_CALL_NOTHING : HG_CALL_RELEASED};
}

/* The response of a target was completed by the transport, or was not
 * submitted. */
static struct step
answered(uint32_t word)
{
    uint32_t left = (word & ~HG_CALL_SEND) | HG_CALL_OVER;

    if (!(word & HG_CALL_CLAIMED) || word & HG_CALL_OVER)
        return (struct step){word, HG_CALL_REFUSED};
    if (!(word & HG_CALL_SEND))
        return (struct step){left, HG_CALL_NOTHING};
    if (!(word & HG_CALL_EARLY))
        return (struct step){
            left, left & HG_CALL_CALLBACK ? HG_CALL_QUEUE : HG_CALL_ENDED};
    return (struct step){
        left, left & HG_CALL_CALLBACK ? HG_CALL_NOTHING : HG_CALL_RELEASED};
}

static struct step
target_revoked(uint32_t word)
{
    if (word & (HG_CALL_EARLY | HG_CALL_OVER))
        return answered(word);
    if (word & HG_CALL_SEND)
        return (struct step){
            word & ~(HG_CALL_SEND | HG_CALL_ASKED), HG_CALL_ENDED};
    return (struct step){
        word & ~(HG_CALL_CLAIMED | HG_CALL_CALLBACK), HG_CALL_NOTHING};
}

static struct step
pending(uint32_t word)
{
    if (!(word & HG_CALL_CLAIMED) || word & (HG_CALL_SEND | HG_CALL_EARLY))
        return (struct step){word, HG_CALL_REFUSED};
    if (!(word & HG_CALL_OVER))
        return (struct step){
            (word | HG_CALL_SEND) & ~HG_CALL_ASKED, HG_CALL_NOTHING};
    return (struct step){
        word, word & HG_CALL_CALLBACK ? HG_CALL_QUEUE : HG_CALL_ENDED};
}

/* Returns whether operations are in progress and awaited. */
static bool
is_waiting(uint32_t word)
{
    return word & OPERATIONS && !(word & HG_CALL_EARLY);
}

static struct step
canceled(uint32_t word)
{
    if (!is_waiting(word))
        return (struct step){word, HG_CALL_NOTHING};
    return (struct step){word | HG_CALL_ASKED,
        word & HG_CALL_ASKED ? HG_CALL_AGAIN : HG_CALL_FIRST};
}

static struct step
early(uint32_t word)
{
    if (!is_waiting(word))
        return (struct step){word, HG_CALL_NOTHING};
    return (struct step){word | HG_CALL_EARLY,
        word & HG_CALL_CALLBACK ? HG_CALL_QUEUE : HG_CALL_ENDED};
}

/* A queued callback is about to run: an origin's operations have completed, a
 * target's response is sent, or the call was completed early. */
static struct step
called(uint32_t word)
{
    uint32_t left = word & ~HG_CALL_CALLBACK;
    bool ended = (word & HG_CALL_PHASE) == HG_CALL_CALLBACK;

    if (left == word || !(ended || word & (HG_CALL_EARLY | HG_CALL_OVER)))
        return (struct step){word, HG_CALL_REFUSED};
    return (struct step){ended ? left >> HG_CALL_SHIFT << HG_CALL_SHIFT : left,
        left & HG_CALL_EARLY && !(left & OPERATIONS) ? HG_CALL_RELEASED
                                                     : HG_CALL_NOTHING};
}

static struct step
claimed(uint32_t word, uint32_t callback)
{
    if (word & HG_CALL_PHASE)
        return (struct step){word, HG_CALL_REFUSED};
    return (struct step){word | HG_CALL_CLAIMED | callback, HG_CALL_NOTHING};
}

static struct step
step(uint32_t word, enum hg_call_event event, uint32_t generation)
{
    bool current = word >> HG_CALL_SHIFT == generation;

    if (event == HG_CALL_ON_REVOKED)
        return word & HG_CALL_CLAIMED ? target_revoked(word)
                                      : origin_revoked(word);
    if (event == HG_CALL_ON_CALLED)
        return called(word);
    if (event == HG_CALL_ON_CLAIM)
        return claimed(word, 0);
    if (event == HG_CALL_ON_CLAIM_CALLBACK)
        return claimed(word, HG_CALL_CALLBACK);
    if (event == HG_CALL_ON_PENDING)
        return pending(word);
    if (event == HG_CALL_ON_ANSWERED)
        return answered(word);
    if (event == HG_CALL_ON_CANCEL && current)
        return canceled(word);
    if (event == HG_CALL_ON_EARLY && current)
        return early(word);
    return (struct step){word, HG_CALL_NOTHING};
}

enum hg_call_result
hg_call_event_rare(
    struct hg_call *call, enum hg_call_event event, uint32_t generation)
{
    /* Acquire pairs with the release in hg_call_begin and hg_call_answered. */
    uint32_t word = atomic_load_explicit(&call->word, memory_order_acquire);
    struct step next;

    /* Acquire and release: see hg_call_ended. */
    do
        next = step(word, event, generation);
    while (next.word != word &&
           !atomic_compare_exchange_weak_explicit(&call->word, &word, next.word,
               memory_order_acq_rel, memory_order_acquire));
    return next.result;
}
