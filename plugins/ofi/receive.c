/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving: buffers of the plugin's, so that a message without a receive
 * never blocks those behind it. */
#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "gate.h"
#include "header.h"
#include "pool.h"
#include "receive.h"

#define BYTES (1U << 20) /* of all buffers, within these numbers */
#define COUNT_MOST 64U
#define COUNT_LEAST 8U
#define MULTI_COUNT 4U /* of buffers for many messages */
#define MULTI_BYTES                                                            \
    ((size_t) 64 << 10) /* of one of these, if messages are short */
#define SLAB 64U        /* of struct tp_kept */

struct ofi_kept_slab {
    struct ofi_kept_slab *next;
    struct tp_kept kept[SLAB];
};

/* provider.c lists the providers that report too early that a buffer is
 * released. */
static bool
choose_multi(struct ofi_endpoint *ep)
{
    size_t least = ep->rx_room;

    /* a buffer whose rest is shorter than that is released */
    return ep->cls->trait->multi != 0 &&
           !FI_VERSION_LT(ofi_library.version(), ep->cls->trait->multi) &&
           (ep->info->caps & FI_MULTI_RECV) != 0 &&
           fi_setopt(&ep->fep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
               &least, sizeof(least)) == 0;
}

static size_t
round_up(size_t bytes)
{
    return (bytes + 63) & ~(size_t) 63;
}

size_t
ofi_rx_multi_bytes(const struct ofi_endpoint *ep)
{
    size_t two = 2 * round_up(ep->rx_room);

    return two > MULTI_BYTES ? two : MULTI_BYTES;
}

/* How many buffers of how many bytes. */
static uint32_t
size_buffers(const struct ofi_endpoint *ep, size_t *stride_p)
{
    *stride_p = ep->rx_multi ? ofi_rx_multi_bytes(ep) : round_up(ep->rx_room);
    if (ep->rx_multi)
        return MULTI_COUNT;
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
    ep->rx_multi = choose_multi(ep);
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
    while (ep->kept_slabs != NULL) {
        struct ofi_kept_slab *slab = ep->kept_slabs;
        ep->kept_slabs = slab->next;
        free(slab);
    }
}

static ssize_t
post_multi(struct ofi_endpoint *ep, struct ofi_rx *rx)
{
    const struct iovec part = {rx->data, ofi_rx_multi_bytes(ep)};
    const struct fi_msg message = {.msg_iov = &part,
        .desc = &rx->desc,
        .iov_count = 1,
        .addr = FI_ADDR_UNSPEC,
        .context = &rx->work.fi};

    rx->released = false;
    return fi_recvmsg(ep->fep, &message, FI_MULTI_RECV | FI_COMPLETION);
}

static inline ssize_t
post(struct ofi_endpoint *ep, struct ofi_rx *rx)
{
    if (__builtin_expect(rx->multi, 0))
        return post_multi(ep, rx);
    return fi_recv(
        ep->fep, rx->data, ep->rx_room, rx->desc, FI_ADDR_UNSPEC, &rx->work.fi);
}

void
ofi_rx_post(struct ofi_endpoint *ep, struct ofi_rx *rx)
{
    bool posted = false;

    if (ep->fep != NULL && ofi_gate_enter(ep, NULL)) {
        posted = post(ep, rx) == 0;
        ofi_gate_leave(ep);
    }
    if (!posted)
        tp_list_append(&ep->unposted, &rx->link);
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

bool
ofi_rx_prepare(struct ofi_endpoint *ep, uint32_t completions)
{
    while (ep->spare_kept_count < completions) {
        struct ofi_kept_slab *slab = calloc(1, sizeof(*slab));
        if (slab == NULL)
            return false;
        slab->next = ep->kept_slabs;
        ep->kept_slabs = slab;
        for (uint32_t i = 0; i < SLAB; i++)
            tp_list_append(&ep->spare_kept, &slab->kept[i].by_age);
        ep->spare_kept_count += SLAB;
    }
    return true;
}

struct tp_kept *
ofi_rx_keep(struct ofi_endpoint *ep, struct ofi_rx *rx)
{
    struct tp_kept *kept = &rx->kept;

    if (rx->multi) {
        kept = TP_OBJECT(tp_list_pop(&ep->spare_kept), struct tp_kept, by_age);
        ep->spare_kept_count--;
        rx->left++;
    }
    kept->place = (uintptr_t) rx;
    return kept;
}

void
ofi_rx_forget(struct ofi_endpoint *ep, struct tp_kept *kept)
{
    struct ofi_rx *rx = (void *) (uintptr_t) kept->place;

    if (rx->multi) {
        tp_list_append(&ep->spare_kept, &kept->by_age);
        ep->spare_kept_count++;
        rx->left--;
    }
    if (!rx->multi || (rx->released && rx->left == 0))
        ofi_rx_post(ep, rx);
}
