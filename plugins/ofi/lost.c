/* SPDX-License-Identifier: BSD-3-Clause */
/* shm 1.17 does a put or get at once, by process_vm_writev and process_vm_readv,
 * where it may, and tells of one that failed by an error without a context
 * (smr_rma_fast). Others wait for the owner's answer, in order for each endpoint
 * (smr_progress_resp): what the dead have not answered holds up all behind it. */
#include "lost.h"
#include "context.h"
#include "fabric.h"
#include "progress.h"
#include "receive.h"
#include "retire.h"
#include "rma.h"
#include "valid.h"

#define TAKES 64U /* batches of completions at once */
#define QUIET 2U  /* of them in a row without one: all have been read */

static struct ofi_list *
list_of(na_plugin_class *cls, const struct ofi_fragment *fragment)
{
    return fragment->job->op != NULL ? &fragment->job->ctx->flying
                                     : &cls->orphans;
}

void
ofi_lost_begun(na_plugin_class *cls, struct ofi_fragment *fragment)
{
    const struct ofi_job *job = fragment->job;

    fragment->serial = ++cls->counters.fragments;
    fragment->doubtful = false;
    ofi_list_append(list_of(cls, fragment), &fragment->link);
    if (!(cls->trait->flags & OFI_TRAIT_NODE))
        return;
    /* pairs with ofi_valid_strike: either it is seen to be struck out here, or
     * its owner finds this in its queue before it goes */
    atomic_thread_fence(memory_order_seq_cst);
    if (ofi_valid_check(cls, job->peer, job->remote))
        return;
    fragment->doubtful = true;
    cls->lost = true;
}

void
ofi_lost_done(na_plugin_class *cls, struct ofi_fragment *fragment)
{
    ofi_list_remove(list_of(cls, fragment), &fragment->link);
}

void
ofi_lost_abandon(na_plugin_ctx *ctx)
{
    struct ofi_link *link = NULL;

    while ((link = ofi_list_pop(&ctx->flying)) != NULL)
        ofi_list_append(&ctx->cls->orphans, link);
}

void
ofi_lost_note(na_plugin_class *cls)
{
    cls->lost = (cls->trait->flags & OFI_TRAIT_NODE) != 0;
}

static bool
is_dead(const na_plugin_addr *peer)
{
    return peer->doubted || peer->gone;
}

static struct ofi_fragment *
first_of(const struct ofi_list *list)
{
    return list->head != NULL
               ? OFI_OBJECT(list->head, struct ofi_fragment, link)
               : NULL;
}

/* Its jobs end, or begin again. Peers who have not taken all of them, which is
 * what settled says, find puts in their queues that come once more, and nothing
 * of what they answer is looked at, since the first one has no answer. */
static void
replace(na_plugin_ctx *ctx, bool settled)
{
    na_plugin_class *cls = ctx->cls;
    struct fid_ep *ep = NULL;
    struct ofi_fragment *fragment = NULL;

    int32_t ret = ofi_fabric_rma_endpoint(cls, &ep);
    ofi_retire_endpoint(cls, ctx->rma_ep, settled);
    ctx->rma_ep = ep;
    while ((fragment = first_of(&ctx->flying)) != NULL)
        ofi_rma_forget(cls, fragment, ret);
}

static bool
has_lost(const struct ofi_list *list)
{
    for (struct ofi_link *link = list->head; link != NULL; link = link->next) {
        const struct ofi_fragment *one =
            OFI_OBJECT(link, struct ofi_fragment, link);
        if (one->doubtful || is_dead(one->job->peer))
            return true;
    }
    return false;
}

static void
read_all(na_plugin_class *cls)
{
    for (uint32_t i = 0, quiet = 0; i < TAKES && quiet < QUIET; i++) {
        quiet = ofi_progress_read(cls) == 0 ? quiet + 1 : 0;
        if (cls->unposted.head != NULL)
            ofi_rx_retry(cls);
    }
}

/* Replaces endpoints whose first fragment is for the dead. The number of the
 * newest one that is a first one, and doubtful; 0: there is none. */
static uint64_t
replace_dead(na_plugin_class *cls)
{
    uint64_t newest = 0;

    cls->lost = false;
    for (uint32_t i = 0; i < OFI_CONTEXTS; i++) {
        na_plugin_ctx *ctx = cls->contexts[i];
        const struct ofi_fragment *first =
            ctx != NULL ? first_of(&ctx->flying) : NULL;
        if (first == NULL)
            continue;
        if (is_dead(first->job->peer)) {
            replace(ctx, false);
            continue;
        }
        /* what the living have before them is ended by those */
        if (has_lost(&ctx->flying))
            cls->lost = true;
        if (first->doubtful && first->serial > newest)
            newest = first->serial;
    }
    return newest;
}

static void
replace_doubtful(na_plugin_class *cls)
{
    for (uint32_t i = 0; i < OFI_CONTEXTS; i++) {
        na_plugin_ctx *ctx = cls->contexts[i];
        const struct ofi_fragment *first =
            ctx != NULL ? first_of(&ctx->flying) : NULL;
        if (first != NULL && first->doubtful &&
            first->serial <= cls->asked_serial)
            replace(ctx, true);
    }
}

void
ofi_lost_work(na_plugin_class *cls)
{
    read_all(cls);
    uint64_t newest = replace_dead(cls);
    if (newest == 0)
        return;
    /* whoever has answered a ping behind it has answered it, or dropped it */
    if (newest > cls->asked_serial) {
        cls->asked_serial = cls->counters.fragments;
        ofi_retire_ask(cls);
    }
    if (!ofi_retire_answered(cls))
        return;
    read_all(cls);
    replace_doubtful(cls);
}

/* The oldest of those that are done at once: what became of others before it has
 * been read. At the owner, errors are about gets and puts of others. */
struct ofi_fragment *
ofi_lost_failed(na_plugin_class *cls, uint64_t flags)
{
    struct ofi_fragment *oldest = NULL;

    if (!(cls->trait->flags & OFI_TRAIT_NODE) || (flags & FI_RMA) != 0)
        return NULL;
    for (uint32_t i = 0; i < OFI_CONTEXTS; i++)
        for (struct ofi_link *link = cls->contexts[i] != NULL
                                         ? cls->contexts[i]->flying.head
                                         : NULL;
             link != NULL; link = link->next) {
            struct ofi_fragment *one =
                OFI_OBJECT(link, struct ofi_fragment, link);
            if (one->at_once &&
                (oldest == NULL || one->serial < oldest->serial))
                oldest = one;
        }
    for (struct ofi_link *link = cls->orphans.head; link != NULL;
         link = link->next) {
        struct ofi_fragment *one = OFI_OBJECT(link, struct ofi_fragment, link);
        if (one->at_once && (oldest == NULL || one->serial < oldest->serial))
            oldest = one;
    }
    return oldest;
}
