/* SPDX-License-Identifier: BSD-3-Clause */
/* One page: a byte that peers get, and, apart from it, the place for theirs, which
 * no peer may read. */
#include "fence.h"
#include "fabric.h"
#include "pages.h"

#define BYTES 4096U
#define HERE 2048U /* where the place for theirs begins */

int32_t
ofi_fence_init(na_plugin_class *cls)
{
    if (cls->delivery)
        return NA_PLUGIN_OK;
    cls->fence = ofi_pages_new(BYTES);
    if (cls->fence == NULL) {
        OFI_LOG(cls->host, ERROR, "no memory for a class");
        return NA_PLUGIN_E_NOMEM;
    }
    int32_t ret = NA_PLUGIN_OK;
    if (cls->main == cls)
        ret = ofi_fabric_register(
            cls, cls->fence, 1, FI_REMOTE_READ, &cls->fence_mr);
    if (ret == NA_PLUGIN_OK && cls->local_mr)
        ret = ofi_fabric_register(
            cls, cls->fence + HERE, 1, FI_READ, &cls->fence_here_mr);
    return ret;
}

void
ofi_fence_fini(na_plugin_class *cls)
{
    if (cls->fence_mr != NULL)
        fi_close(&cls->fence_mr->fid);
    if (cls->fence_here_mr != NULL)
        fi_close(&cls->fence_here_mr->fid);
    ofi_pages_free(cls->fence, BYTES);
    cls->fence_mr = cls->fence_here_mr = NULL;
    cls->fence = NULL;
}

struct ofi_segment
ofi_fence_offer(const na_plugin_class *cls)
{
    bool virtual = (cls->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;

    if (cls->fence_mr == NULL)
        return (struct ofi_segment){0};
    return (struct ofi_segment){.address = virtual ? (uintptr_t) cls->fence : 0,
        .length = 1,
        .key = fi_mr_key(cls->fence_mr)};
}

void *
ofi_fence_here(const na_plugin_class *cls, void **desc_p)
{
    *desc_p =
        cls->fence_here_mr != NULL ? fi_mr_desc(cls->fence_here_mr) : NULL;
    return cls->fence + HERE;
}
