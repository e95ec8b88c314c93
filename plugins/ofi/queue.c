/* SPDX-License-Identifier: BSD-3-Clause */
/* One queue of completions serves the contexts of an endpoint; a
 * completion leads to the function that takes it. */
#include <string.h>

#include "gate.h"
#include "ofi.h"
#include "queue.h"
#include "quirk.h"
#include "receive.h"
#include "work.h"

#define BATCH 32U
#define DRAIN 64U /* batches at most of one drain */
#define QUIET 2U  /* of them in a row without a completion: there are no more */

static inline void
complete(
    struct ofi_endpoint *ep, const struct fi_cq_data_entry *entry, int error)
{
    struct ofi_work *work = entry->op_context;

    work->done(ep, work, entry, error);
}

/* An error. One without a context is of an injected message, of an unknown peer. */
static uint32_t
read_error(struct ofi_endpoint *ep)
{
    struct fi_cq_err_entry entry = {0};

    if (fi_cq_readerr(ep->cq, &entry, 0) != 1)
        return 0;
    TP_LOG(ep->cls->host, DEBUG, "completion with an error: %d (%s)", entry.err,
        ofi_library.strerror(entry.err));
    const struct fi_cq_data_entry failed = {.op_context = entry.op_context,
        .flags = entry.flags,
        .len = entry.len,
        .buf = entry.buf};
    struct ofi_fragment *fragment = NULL;
    if (entry.op_context != NULL)
        complete(ep, &failed, entry.err != 0 ? entry.err : FI_EIO);
    else if ((fragment = ofi_quirk_rma_failed(ep, entry.flags)) != NULL)
        fragment->work.done(ep, &fragment->work, &failed, FI_EIO);
    else
        ep->counters.completion_errors++;
    return 1;
}

uint32_t
ofi_queue_read(struct ofi_endpoint *ep)
{
    struct fi_cq_data_entry entries[BATCH];

    if (ep->rx_multi && !ofi_rx_prepare(ep, BATCH))
        return 0;
    if (!ofi_gate_enter_read(ep))
        return 0;
    ssize_t count = fi_cq_read(ep->cq, entries, BATCH);
    ofi_gate_leave_read(ep, count != -FI_EAGAIN);

    if (count == -FI_EAVAIL)
        return read_error(ep);
    if (count < 0)
        return 0;
    for (ssize_t i = 0; i < count; i++)
        if (entries[i].op_context != NULL)
            complete(ep, &entries[i], 0);
    return (uint32_t) count;
}

uint32_t
ofi_queue_step(struct ofi_endpoint *ep)
{
    uint32_t count = ofi_queue_read(ep);

    if (ep->unposted.head != NULL)
        ofi_rx_retry(ep);
    return count;
}

void
ofi_queue_drain(struct ofi_endpoint *ep)
{
    for (uint32_t i = 0, quiet = 0; i < DRAIN && quiet < QUIET; i++)
        quiet = ofi_queue_step(ep) == 0 ? quiet + 1 : 0;
}
