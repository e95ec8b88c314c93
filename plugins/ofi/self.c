/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets to oneself are copied, a slice in each poll. */
#include <string.h>

#include "mem.h"
#include "rma.h"

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
own_memory(na_plugin_class *main, const na_plugin_mem *described)
{
    if (!ofi_mem_is_own(main, described))
        return NULL;
    for (struct ofi_link *link = main->memory.head; link != NULL;
         link = link->next) {
        const na_plugin_mem *mem = OFI_OBJECT(link, na_plugin_mem, link);
        if (mem->id == described->id)
            return mem;
    }
    return NULL;
}

void
ofi_rma_copy(na_plugin_class *cls)
{
    struct ofi_job *job =
        OFI_OBJECT(cls->copying.head, struct ofi_job, by_peer);
    const na_plugin_mem *described = job->remote;

    /* held during the slice: nobody deregisters what is copied */
    ofi_lock_take(&cls->main->memory_lock);
    job->remote = own_memory(cls->main, described);
    if (job->remote != NULL)
        copy_slice(job, SLICE);
    else {
        job->status = NA_PLUGIN_E_PERMISSION;
        job->left = 0;
    }
    job->remote = described;
    ofi_lock_drop(&cls->main->memory_lock);
    if (job->left == 0)
        ofi_rma_end(cls, job);
}
