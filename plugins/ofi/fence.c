/* SPDX-License-Identifier: BSD-3-Clause */
/* One page: a byte that peers get, and, apart from it, the place for theirs, which
 * no peer may read. */
#include "fence.h"
#include "fabric.h"
#include "ofi.h"
#include "pool.h"

#define BYTES 4096U
#define HERE 2048U /* where the place for theirs begins */

int32_t
ofi_fence_init(struct ofi_endpoint *ep)
{
    if (ep->cls->delivery)
        return NA_PLUGIN_OK;
    ep->fence = ofi_pages_new(BYTES);
    if (ep->fence == NULL) {
        TP_LOG(ep->cls->host, ERROR, "no memory for a class");
        return NA_PLUGIN_E_NOMEM;
    }
    int32_t ret = NA_PLUGIN_OK;
    if (ofi_is_first(ep))
        ret = ofi_fabric_register(
            ep, ep->fence, 1, FI_REMOTE_READ, &ep->fence_mr);
    if (ret == NA_PLUGIN_OK && ep->local_mr)
        ret = ofi_fabric_register(
            ep, ep->fence + HERE, 1, FI_READ, &ep->fence_here_mr);
    return ret;
}

void
ofi_fence_fini(struct ofi_endpoint *ep)
{
    if (ep->fence_mr != NULL)
        fi_close(&ep->fence_mr->fid);
    if (ep->fence_here_mr != NULL)
        fi_close(&ep->fence_here_mr->fid);
    ofi_pages_free(ep->fence, BYTES);
    ep->fence_mr = ep->fence_here_mr = NULL;
    ep->fence = NULL;
}

struct ofi_segment
ofi_fence_offer(const struct ofi_endpoint *ep)
{
    bool virtual = (ep->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;

    if (ep->fence_mr == NULL)
        return (struct ofi_segment){0};
    return (struct ofi_segment){.address = virtual ? (uintptr_t) ep->fence : 0,
        .length = 1,
        .key = fi_mr_key(ep->fence_mr)};
}

void *
ofi_fence_here(const struct ofi_endpoint *ep, void **desc_p)
{
    *desc_p = ep->fence_here_mr != NULL ? fi_mr_desc(ep->fence_here_mr) : NULL;
    return ep->fence + HERE;
}
