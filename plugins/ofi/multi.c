/* SPDX-License-Identifier: BSD-3-Clause */
/* Large buffers for many messages. Only what libfabric calls released is posted
 * again: which providers say so too early is in provider.c. */
#include <stdlib.h>

#include "multi.h"
#include "receive.h"

#define COUNT 4U
#define BYTES ((size_t) 64 << 10) /* of a buffer, if messages are short */
#define SLAB 64U                  /* of struct ofi_kept */

struct ofi_kept_slab {
    struct ofi_kept_slab *next;
    struct ofi_kept kept[SLAB];
};

void
ofi_multi_choose(na_plugin_class *cls)
{
    size_t least = cls->rx_room;

    /* a buffer whose rest is shorter than that is released */
    cls->rx_multi = cls->trait->multi != 0 &&
                    !FI_VERSION_LT(ofi_library.version(), cls->trait->multi) &&
                    (cls->info->caps & FI_MULTI_RECV) != 0 &&
                    fi_setopt(&cls->ep->fid, FI_OPT_ENDPOINT,
                        FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)) == 0;
}

uint32_t
ofi_multi_size(const na_plugin_class *cls, size_t *bytes_p)
{
    size_t two = 2 * ((cls->rx_room + 63) & ~(size_t) 63);

    *bytes_p = two > BYTES ? two : BYTES;
    return COUNT;
}

void
ofi_multi_fini(na_plugin_class *cls)
{
    while (cls->kept_slabs != NULL) {
        struct ofi_kept_slab *slab = cls->kept_slabs;
        cls->kept_slabs = slab->next;
        free(slab);
    }
}

ssize_t
ofi_multi_post(na_plugin_class *cls, struct ofi_rx *rx)
{
    size_t bytes;
    ofi_multi_size(cls, &bytes);
    const struct iovec part = {rx->data, bytes};
    const struct fi_msg message = {.msg_iov = &part,
        .desc = &rx->desc,
        .iov_count = 1,
        .addr = FI_ADDR_UNSPEC,
        .context = &rx->work.fi};

    rx->released = false;
    return fi_recvmsg(cls->ep, &message, FI_MULTI_RECV | FI_COMPLETION);
}

bool
ofi_multi_prepare(na_plugin_class *cls, uint32_t completions)
{
    while (cls->spare_kept_count < completions) {
        struct ofi_kept_slab *slab = calloc(1, sizeof(*slab));
        if (slab == NULL)
            return false;
        slab->next = cls->kept_slabs;
        cls->kept_slabs = slab;
        for (uint32_t i = 0; i < SLAB; i++)
            ofi_list_append(&cls->spare_kept, &slab->kept[i].by_age);
        cls->spare_kept_count += SLAB;
    }
    return true;
}

struct ofi_kept *
ofi_multi_keep(na_plugin_class *cls, struct ofi_rx *rx)
{
    rx->left++;
    cls->spare_kept_count--;
    return OFI_OBJECT(ofi_list_pop(&cls->spare_kept), struct ofi_kept, by_age);
}

static void
post_again(na_plugin_class *cls, struct ofi_rx *rx)
{
    if (rx->released && rx->left == 0)
        ofi_rx_post(cls, rx);
}

void
ofi_multi_forget(na_plugin_class *cls, struct ofi_kept *kept)
{
    struct ofi_rx *rx = kept->rx;

    ofi_list_append(&cls->spare_kept, &kept->by_age);
    cls->spare_kept_count++;
    rx->left--;
    post_again(cls, rx);
}

void
ofi_multi_done(na_plugin_class *cls, struct ofi_rx *rx,
    const struct fi_cq_data_entry *entry, int error)
{
    size_t bytes;
    ofi_multi_size(cls, &bytes);
    uintptr_t offset = (uintptr_t) entry->buf - (uintptr_t) rx->data;

    if (error != 0) {
        if (error != FI_ECANCELED)
            ofi_rx_reject(cls, ofi_library.strerror(error));
    } else if (entry->len != 0) {
        if (entry->len > bytes || offset > bytes - entry->len)
            ofi_rx_reject(cls, "it does not lie in its buffer");
        else
            ofi_rx_dispatch(cls, rx, entry->buf, entry->len);
    }
    if (entry->flags & FI_MULTI_RECV) {
        rx->released = true;
        post_again(cls, rx);
    }
}
