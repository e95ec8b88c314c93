/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving: buffers of the plugin's, so that a message which nobody waits for
 * never stands in the way of those behind it. */
#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "header.h"
#include "multi.h"
#include "ofi.h"
#include "pages.h"
#include "receive.h"
#include "rx.h"

#define BYTES (1U << 20) /* of all buffers, within these numbers */
#define COUNT_MOST 64U
#define COUNT_LEAST 8U

/* How many buffers of how many bytes. */
static uint32_t
size_buffers(const struct ofi_endpoint *ep, size_t *stride_p)
{
    if (ep->rx_multi)
        return ofi_multi_size(ep, stride_p);
    *stride_p = (ep->rx_room + 63) & ~(size_t) 63;
    uint32_t count = (uint32_t) (BYTES / *stride_p);
    count = count > COUNT_MOST ? COUNT_MOST : count;
    return count < COUNT_LEAST ? COUNT_LEAST : count;
}

int32_t
ofi_rx_init(struct ofi_endpoint *ep, ofi_work_done *one, ofi_work_done *many)
{
    size_t stride = 0;

    ep->rx_room = ofi_header_length(OFI_NAME_MAX, OFI_NAME_MAX) +
                  (ep->cls->max_unexpected > ep->cls->max_expected
                          ? ep->cls->max_unexpected
                          : ep->cls->max_expected);
    ofi_multi_choose(ep);
    uint32_t count = size_buffers(ep, &stride);

    ep->rxs = calloc(count, sizeof(*ep->rxs));
    ep->rx_memory = ofi_pages_new(stride * count);
    ep->rx_bytes = stride * count;
    if (ep->rxs == NULL || ep->rx_memory == NULL) {
        TP_LOG(ep->cls->host, ERROR, "no memory for %u buffers of %zu bytes",
            count, stride);
        return NA_PLUGIN_E_NOMEM;
    }
    if (ep->local_mr) {
        int32_t ret = ofi_fabric_register(
            ep, ep->rx_memory, stride * count, FI_SEND | FI_RECV, &ep->rx_mr);
        if (ret != NA_PLUGIN_OK)
            return ret;
    }
    ep->rx_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct ofi_rx *rx = &ep->rxs[i];
        rx->multi = ep->rx_multi;
        rx->work.done = rx->multi ? many : one;
        rx->data = ep->rx_memory + stride * i;
        rx->desc = ep->rx_mr != NULL ? fi_mr_desc(ep->rx_mr) : NULL;
        ofi_rx_post(ep, rx);
    }
    return NA_PLUGIN_OK;
}

void
ofi_rx_fini(struct ofi_endpoint *ep)
{
    if (ep->rx_mr != NULL)
        fi_close(&ep->rx_mr->fid);
    ofi_pages_free(ep->rx_memory, ep->rx_bytes);
    free(ep->rxs);
    ofi_multi_fini(ep);
}

static inline ssize_t
post(struct ofi_endpoint *ep, struct ofi_rx *rx)
{
    if (__builtin_expect(rx->multi, 0))
        return ofi_multi_post(ep, rx);
    return fi_recv(
        ep->fep, rx->data, ep->rx_room, rx->desc, FI_ADDR_UNSPEC, &rx->work.fi);
}

void
ofi_rx_post(struct ofi_endpoint *ep, struct ofi_rx *rx)
{
    if (ep->fep == NULL || post(ep, rx) != 0)
        tp_list_append(&ep->unposted, &rx->link);
}

struct tp_kept *
ofi_rx_keep(struct ofi_endpoint *ep, struct ofi_rx *rx)
{
    struct tp_kept *kept = rx->multi ? ofi_multi_keep(ep, rx) : &rx->kept;

    kept->place = (uintptr_t) rx;
    return kept;
}

void
ofi_rx_forget(struct ofi_endpoint *ep, struct tp_kept *kept)
{
    struct ofi_rx *rx = (void *) (uintptr_t) kept->place;

    if (!rx->multi || ofi_multi_forget(ep, kept))
        ofi_rx_post(ep, rx);
}

void
ofi_rx_retry(struct ofi_endpoint *ep)
{
    struct tp_list list = ep->unposted;
    struct tp_link *link = NULL;

    ep->unposted = (struct tp_list){0};
    while ((link = tp_list_pop(&list)) != NULL)
        ofi_rx_post(ep, TP_OBJECT(link, struct ofi_rx, link));
}
