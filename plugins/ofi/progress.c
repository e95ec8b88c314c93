/* SPDX-License-Identifier: BSD-3-Clause */
/* One queue of completions serves the contexts of a class that have no lanes;
 * whoever polls, polls for all of them. */
#include <sched.h>
#include <string.h>

#include "context.h"
#include "fork.h"
#include "inbox.h"
#include "lane.h"
#include "lost.h"
#include "match.h"
#include "multi.h"
#include "peer.h"
#include "progress.h"
#include "receive.h"
#include "rma.h"
#include "send.h"
#include "silent.h"
#include "wait.h"

#define BATCH 32U
#define ROUNDS 4U /* batches of a poll that bring nothing to report */
#define TURNS 8U  /* polls of a lane between two of its main class */

static void
complete(na_plugin_class *cls, const struct fi_cq_data_entry *entry, int error)
{
    struct ofi_work *work = entry->op_context;

    switch (work->kind) {
    case OFI_WORK_TX:
        ofi_send_done(cls, OFI_OBJECT(work, struct ofi_tx, work), error);
        break;
    case OFI_WORK_RX:
        ofi_rx_done(
            cls, OFI_OBJECT(work, struct ofi_rx, work), entry->len, error);
        break;
    case OFI_WORK_MULTI:
        ofi_multi_done(
            cls, OFI_OBJECT(work, struct ofi_rx, work), entry, error);
        break;
    case OFI_WORK_FRAGMENT:
        ofi_rma_done(cls, OFI_OBJECT(work, struct ofi_fragment, work), error);
        break;
    }
}

/* An error. One without a context is of something that was injected: whose, it
 * does not say. */
static uint32_t
read_error(na_plugin_class *cls)
{
    struct fi_cq_err_entry entry = {0};

    if (fi_cq_readerr(cls->cq, &entry, 0) != 1)
        return 0;
    OFI_LOG(cls->host, DEBUG, "completion with error %d (%s)", entry.err,
        ofi_library.strerror(entry.err));
    const struct fi_cq_data_entry failed = {.op_context = entry.op_context,
        .flags = entry.flags,
        .len = entry.len,
        .buf = entry.buf};
    struct ofi_fragment *fragment = NULL;
    if (entry.op_context != NULL)
        complete(cls, &failed, entry.err != 0 ? entry.err : FI_EIO);
    else if ((fragment = ofi_lost_failed(cls, entry.flags)) != NULL)
        ofi_rma_done(cls, fragment, FI_EIO);
    else
        cls->counters.completion_errors++;
    return 1;
}

uint32_t
ofi_progress_read(na_plugin_class *cls)
{
    struct fi_cq_data_entry entries[BATCH];

    if (cls->rx_multi && !ofi_multi_prepare(cls, BATCH))
        return 0;
    ssize_t count = fi_cq_read(cls->cq, entries, BATCH);

    if (count == -FI_EAVAIL)
        return read_error(cls);
    if (count < 0)
        return 0;
    for (ssize_t i = 0; i < count; i++)
        if (entries[i].op_context != NULL)
            complete(cls, &entries[i], 0);
    return (uint32_t) count;
}

/* What there is between a class and its lanes. */
static void
exchange(na_plugin_class *cls)
{
    if (!ofi_inbox_is_empty(cls))
        ofi_inbox_unpack(cls);
    if (cls->detained.head != NULL)
        ofi_lane_retry(cls);
    if (cls->held.head != NULL)
        ofi_match_retry(cls);
}

static inline void
advance(na_plugin_class *cls, const na_plugin_ctx *ctx)
{
    if (__builtin_expect(cls->main->apart, 0))
        exchange(cls);
    for (uint32_t i = 0; (ctx == NULL || ctx->ready_count == 0) && i < ROUNDS;
         i++)
        if (ofi_progress_read(cls) == 0)
            break;
    if (cls->unposted.head != NULL)
        ofi_rx_retry(cls);
    if (cls->copying.head != NULL)
        ofi_rma_copy(cls);
    ofi_peer_work(cls);
    ofi_silent_work(cls);
    if (cls->scan_due)
        ofi_fork_scan(cls);
}

void
ofi_progress_advance(na_plugin_class *cls)
{
    advance(cls, NULL);
}

uint64_t
ofi_progress_sleep(na_plugin_class *cls)
{
    uint64_t sleep_ns = ofi_least(ofi_peer_sleep(cls), ofi_silent_sleep(cls));
    bool soon = cls->detained.head != NULL ||
                (cls->held.head != NULL && cls->main->apart);

    ofi_silent_look(cls);
    return (soon || cls->naps) && sleep_ns > OFI_MS ? OFI_MS : sleep_ns;
}

/* Somebody polls the class; a lane advances what is its class's as well, now and
 * then, or each time if it is the one that wakes for it. */
static void
attend(na_plugin_class *cls, bool guards)
{
    if (cls->main == cls) {
        uint32_t polls =
            atomic_load_explicit(&cls->attended, memory_order_relaxed);
        atomic_store_explicit(&cls->attended, polls + 1, memory_order_relaxed);
    }
    if (++cls->turns < TURNS && !guards)
        return;
    cls->turns = 0;
    ofi_lane_help(cls);
}

int32_t
ofi_progress_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    na_plugin_class *cls = ctx->cls;

    if (cls->main->apart)
        attend(cls, ctx->guards);
    if (__builtin_expect(
            atomic_load_explicit(&cls->lock.waiting, memory_order_relaxed) != 0,
            0))
        sched_yield();
    ofi_lock_take(&cls->lock);
    if (ctx->armed)
        ofi_wait_disarm(ctx);
    advance(cls, ctx);
    uint32_t count = ofi_ctx_take(ctx, events, max);
    ofi_lock_drop(&cls->lock);
    return (int32_t) count;
}

int32_t
ofi_progress_cancel(na_plugin_ctx *ctx, void *operation)
{
    na_plugin_class *cls = ctx->cls;
    struct ofi_op *op = operation;

    ofi_lock_take(&cls->lock);
    if (op->state == OFI_OP_POSTED && op->ctx == ctx)
        switch (op->kind) {
        case OFI_OP_SEND:
            ofi_send_cancel(ctx, op);
            break;
        case OFI_OP_RMA:
            ofi_rma_cancel(cls, op);
            break;
        default:
            ofi_match_cancel(ctx, op, NA_PLUGIN_E_CANCELED);
            break;
        }
    ofi_lock_drop(&cls->lock);
    return NA_PLUGIN_OK;
}
