/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors in the input and output of RPCs. */
#include "bulk/bulk.h"

#include "mercury_proc_bulk.h"
#include "proc/proc.h"

#define LENGTH_SIZE sizeof(uint64_t)

/* Returns whether to include the data: they are small, and fit into the
 * message. */
static bool
eager(const struct hg_proc *proc, const struct hg_bulk *bulk)
{
    return bulk_may_be_eager(bulk) && !proc->extra &&
           !(proc->notes & PROC_EAGER_NEVER) && bulk->size < proc_left(proc);
}

/* Writes the descriptor after its length field, if there is room. */
static hg_return_t
encode_at(const struct hg_proc *proc, struct hg_bulk *bulk, unsigned long flags,
    size_t *size_p)
{
    size_t left = proc_left(proc);
    bool room = left > LENGTH_SIZE;

    return bulk_encode(bulk, flags, room ? proc->pos + LENGTH_SIZE : NULL,
        room ? left - LENGTH_SIZE : 0, size_p);
}

static hg_return_t
proc_encode(hg_proc_t proc, struct hg_bulk *bulk)
{
    hg_return_t ret = HG_OVERFLOW;
    hg_size_t length;
    size_t size;

    if (eager(proc, bulk)) {
        ret = encode_at(proc, bulk, HG_BULK_EAGER, &size);
        if (ret == HG_SUCCESS)
            proc->notes |= PROC_EAGER_THERE;
    }
    if (ret == HG_OVERFLOW)
        ret = encode_at(proc, bulk, 0, &size);
    if (ret == HG_OVERFLOW) {
        ret = proc_grow(proc, LENGTH_SIZE + size);
        if (ret == HG_SUCCESS)
            ret = encode_at(proc, bulk, 0, &size);
    }
    if (ret != HG_SUCCESS)
        return ret;
    length = size;
    ret = hg_proc_hg_size_t(proc, &length);
    if (ret == HG_SUCCESS)
        proc->pos += size;
    return ret;
}

static hg_return_t
proc_decode(hg_proc_t proc, hg_bulk_t *bulk_p)
{
    hg_size_t size;
    hg_return_t ret = hg_proc_hg_size_t(proc, &size);
    const void *bytes;

    if (ret != HG_SUCCESS)
        return ret;
    if (size == 0) {
        *bulk_p = HG_BULK_NULL;
        return HG_SUCCESS;
    }
    bytes = hg_proc_save_ptr(proc, size);
    if (!bytes)
        return HG_OVERFLOW;
    return HG_Bulk_deserialize(hg_proc_get_class(proc), bulk_p, bytes, size);
}

hg_return_t
hg_proc_hg_bulk_t(hg_proc_t proc, void *data)
{
    hg_bulk_t *bulk_p = data;
    hg_size_t none = 0;
    hg_return_t ret;

    switch (hg_proc_get_op(proc)) {
    case HG_ENCODE:
        return *bulk_p ? proc_encode(proc, *bulk_p)
                       : hg_proc_hg_size_t(proc, &none);
    case HG_DECODE:
        return proc_decode(proc, bulk_p);
    case HG_FREE:
        ret = HG_Bulk_free(*bulk_p);
        *bulk_p = HG_BULK_NULL;
        return ret;
    }
    return HG_INVALID_ARG;
}
