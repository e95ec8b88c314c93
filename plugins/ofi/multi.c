/* SPDX-License-Identifier: BSD-3-Clause */
/* Large buffers for many messages. Only what libfabric calls released is posted
 * again: which providers say so too early is in provider.c. */
#include <stdlib.h>

#include "multi.h"
#include "ofi.h"
#include "rx.h"

#define COUNT 4U
#define BYTES ((size_t) 64 << 10) /* of a buffer, if messages are short */
#define SLAB 64U                  /* of struct tp_kept */

struct ofi_kept_slab {
    struct ofi_kept_slab *next;
    struct tp_kept kept[SLAB];
};

void
ofi_multi_choose(struct ofi_endpoint *ep)
{
    size_t least = ep->rx_room;

    /* a buffer whose rest is shorter than that is released */
    ep->rx_multi =
        ep->cls->trait->multi != 0 &&
        !FI_VERSION_LT(ofi_library.version(), ep->cls->trait->multi) &&
        (ep->info->caps & FI_MULTI_RECV) != 0 &&
        fi_setopt(&ep->fep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least,
            sizeof(least)) == 0;
}

uint32_t
ofi_multi_size(const struct ofi_endpoint *ep, size_t *bytes_p)
{
    size_t two = 2 * ((ep->rx_room + 63) & ~(size_t) 63);

    *bytes_p = two > BYTES ? two : BYTES;
    return COUNT;
}

void
ofi_multi_fini(struct ofi_endpoint *ep)
{
    while (ep->kept_slabs != NULL) {
        struct ofi_kept_slab *slab = ep->kept_slabs;
        ep->kept_slabs = slab->next;
        free(slab);
    }
}

ssize_t
ofi_multi_post(struct ofi_endpoint *ep, struct ofi_rx *rx)
{
    size_t bytes;
    ofi_multi_size(ep, &bytes);
    const struct iovec part = {rx->data, bytes};
    const struct fi_msg message = {.msg_iov = &part,
        .desc = &rx->desc,
        .iov_count = 1,
        .addr = FI_ADDR_UNSPEC,
        .context = &rx->work.fi};

    rx->released = false;
    return fi_recvmsg(ep->fep, &message, FI_MULTI_RECV | FI_COMPLETION);
}

bool
ofi_multi_prepare(struct ofi_endpoint *ep, uint32_t completions)
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
ofi_multi_keep(struct ofi_endpoint *ep, struct ofi_rx *rx)
{
    rx->left++;
    ep->spare_kept_count--;
    return TP_OBJECT(tp_list_pop(&ep->spare_kept), struct tp_kept, by_age);
}

bool
ofi_multi_forget(struct ofi_endpoint *ep, struct tp_kept *kept)
{
    struct ofi_rx *rx = (void *) (uintptr_t) kept->place;

    tp_list_append(&ep->spare_kept, &kept->by_age);
    ep->spare_kept_count++;
    rx->left--;
    return rx->released && rx->left == 0;
}
