/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets to oneself are copied, a slice in each poll. */
#include <string.h>

#include "mem.h"
#include "memory.h"
#include "ofi.h"
#include "rma.h"
#include "work.h"

#define SLICE (1U << 20) /* bytes in one poll */

static void
copy_slice(struct ofi_job *job, uint64_t most)
{
    while (job->left != 0 && most != 0) {
        uint64_t near = 0, far = 0;
        const struct ofi_segment *local =
            ofi_mem_find(job->local, job->local_offset, &near);
        const struct ofi_segment *remote =
            ofi_mem_find(job->remote, job->remote_offset, &far);
        uint64_t length =
            ofi_least(ofi_least(local->length - near, remote->length - far),
                ofi_least(job->left, most));
        void *here = (void *) (uintptr_t) (local->base + near);
        void *there = (void *) (uintptr_t) (remote->base + far);
        memmove(job->put ? there : here, job->put ? here : there, length);
        job->local_offset += length;
        job->remote_offset += length;
        job->left -= length;
        most -= length;
    }
}

/* The registration that a description is of, under its lock. */
static const na_plugin_mem *
own_memory(na_plugin_class *cls, const na_plugin_mem *described)
{
    if (!ofi_mem_is_own(cls, described))
        return NULL;
    for (struct tp_link *link = cls->memory.head; link != NULL;
         link = link->next) {
        const na_plugin_mem *mem = TP_OBJECT(link, na_plugin_mem, link);
        if (mem->id == described->id)
            return mem;
    }
    return NULL;
}

void
ofi_rma_copy(struct ofi_endpoint *ep)
{
    struct ofi_job *job = TP_OBJECT(ep->copying.head, struct ofi_job, by_peer);
    const na_plugin_mem *described = job->remote;

    /* held during the slice: nobody deregisters what is copied */
    tp_lock_take(&ep->cls->memory_lock);
    job->remote = own_memory(ep->cls, described);
    if (job->remote != NULL)
        copy_slice(job, SLICE);
    else {
        job->status = NA_PLUGIN_E_PERMISSION;
        job->left = 0;
    }
    job->remote = described;
    tp_lock_drop(&ep->cls->memory_lock);
    if (job->left == 0)
        ofi_rma_end(ep, job);
}
