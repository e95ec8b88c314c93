/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets to oneself are copied, a slice in each poll. */
#include <string.h>

#include "mem.h"
#include "ofi.h"
#include "rma.h"
#include "work.h"

#define SLICE (1U << 20) /* bytes in one poll */

static void
copy_slice(struct ofi_job *job, const na_plugin_mem *own)
{
    uint64_t slice = ofi_least(job->walk.left, SLICE);
    struct tp_walk walk = job->walk;
    struct tp_part part;

    walk.far = own->segments;
    walk.left = slice;
    while (tp_walk_next(&walk, &part)) {
        void *there = (void *) (uintptr_t) part.there;
        memmove(job->put ? there : part.here, job->put ? part.here : there,
            part.length);
    }
    job->walk.near_offset += slice;
    job->walk.far_offset += slice;
    job->walk.left -= slice;
}

void
ofi_rma_copy(struct ofi_endpoint *ep)
{
    struct ofi_job *job = TP_OBJECT(ep->copying.head, struct ofi_job, by_peer);

    /* held during the slice: nobody deregisters what is copied */
    tp_lock_take(&ep->cls->memory_lock);
    const na_plugin_mem *own = ofi_mem_own(ep->cls, job->remote);
    if (own != NULL)
        copy_slice(job, own);
    else {
        job->status = NA_PLUGIN_E_PERMISSION;
        job->walk.left = 0;
    }
    tp_lock_drop(&ep->cls->memory_lock);
    if (job->walk.left == 0)
        ofi_rma_end(ep, job);
}
