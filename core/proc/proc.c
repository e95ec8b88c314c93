/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating and resetting procs, growing the buffer, accessors. */
#include "proc/proc.h"

/* Sizes are rounded up to this, so that small buffers grow rarely. */
#define EXTRA_UNIT 4096

static void
set_buffer(struct hg_proc *proc, char *buf, size_t size, size_t pos)
{
    proc->start = buf;
    proc->pos = size == 0 ? buf : buf + pos;
    proc->end = size == 0 ? buf : buf + size;
}

void
proc_init(struct hg_proc *proc, hg_class_t *hg_class, hg_handle_t handle,
    hg_proc_hash_t hash)
{
    *proc = (struct hg_proc){
        .op = HG_DECODE,
        .hash = hash,
        .hg_class = hg_class,
        .handle = handle,
    };
}

hg_return_t
hg_proc_create(hg_class_t *hg_class, hg_proc_hash_t hash, hg_proc_t *proc_p)
{
    struct hg_proc *proc;

    if (hg_class == NULL || (unsigned int) hash > HG_NOHASH || proc_p == NULL)
        return HG_INVALID_ARG;

    proc = malloc(sizeof(*proc));
    if (proc == NULL)
        return HG_NOMEM;
    proc_init(proc, hg_class, HG_HANDLE_NULL, hash);
    *proc_p = proc;
    return HG_SUCCESS;
}

hg_return_t
hg_proc_create_set(hg_class_t *hg_class, void *buf, hg_size_t buf_size,
    hg_proc_op_t op, hg_proc_hash_t hash, hg_proc_t *proc_p)
{
    hg_proc_t proc;
    hg_return_t ret;

    if (proc_p == NULL)
        return HG_INVALID_ARG;
    ret = hg_proc_create(hg_class, hash, &proc);
    if (ret != HG_SUCCESS)
        return ret;
    ret = hg_proc_reset(proc, buf, buf_size, op);
    if (ret != HG_SUCCESS)
        goto free_proc;
    *proc_p = proc;
    return HG_SUCCESS;

free_proc:
    hg_proc_free(proc);
    return ret;
}

hg_return_t
hg_proc_free(hg_proc_t proc)
{
    if (proc == HG_PROC_NULL)
        return HG_SUCCESS;
    proc_finish(proc);
    free(proc);
    return HG_SUCCESS;
}

hg_return_t
hg_proc_reset(hg_proc_t proc, void *buf, hg_size_t buf_size, hg_proc_op_t op)
{
    if (proc == HG_PROC_NULL || (unsigned int) op > HG_FREE)
        return HG_INVALID_ARG;
    if (op != HG_FREE &&
        (buf_size > PROC_SIZE_MAX || (buf == NULL && buf_size > 0)))
        return HG_INVALID_ARG;

    proc_finish(proc);
    if (op == HG_FREE)
        set_buffer(proc, NULL, 0, 0);
    else
        set_buffer(proc, buf, (size_t) buf_size, 0);
    proc->op = op;
    proc->flags = 0;
    proc->notes &= PROC_NO_EXTRA;
    proc->seed = 0;
    return HG_SUCCESS;
}

/* Moves the message to an extra buffer of `size` bytes, more than the current
 * buffer. */
static hg_return_t
move_to_extra(struct hg_proc *proc, size_t size)
{
    size_t used = proc_used(proc);
    char *buf;

    if (proc->notes & PROC_NO_EXTRA)
        return HG_OVERFLOW;
    if (proc->extra && !proc->extra_is_callers) {
        buf = realloc(proc->start, size + PROC_EXTRA_TAIL);
        if (buf == NULL)
            return HG_NOMEM;
    } else {
        buf = malloc(size + PROC_EXTRA_TAIL);
        if (buf == NULL)
            return HG_NOMEM;
        if (used > 0)
            memcpy(buf, proc->start, used);
    }
    set_buffer(proc, buf, size, used);
    proc->extra = true;
    proc->extra_is_callers = false;
    return HG_SUCCESS;
}

__attribute__((cold, noinline)) hg_return_t
proc_grow(struct hg_proc *proc, hg_size_t size)
{
    size_t used = proc_used(proc);
    size_t want;

    if (proc->op != HG_ENCODE)
        return HG_OVERFLOW;
    if (size > PROC_SIZE_MAX - EXTRA_UNIT - used)
        return HG_OVERFLOW;

    /* Doubling keeps the total cost of copying proportional to the message.
     * Neither it nor the rounding can overflow: the buffer is smaller than used
     * + size. */
    want = used + (size_t) size;
    if (want < 2 * (size_t) (proc->end - proc->start))
        want = 2 * (size_t) (proc->end - proc->start);
    want += (EXTRA_UNIT - want % EXTRA_UNIT) % EXTRA_UNIT;
    return move_to_extra(proc, want);
}

hg_return_t
hg_proc_set_size(hg_proc_t proc, hg_size_t buf_size)
{
    if (proc == HG_PROC_NULL)
        return HG_INVALID_ARG;
    if (buf_size <= hg_proc_get_size(proc))
        return HG_SUCCESS;
    if (proc->op != HG_ENCODE || buf_size > PROC_SIZE_MAX)
        return HG_OVERFLOW;
    return move_to_extra(proc, (size_t) buf_size);
}

void *
hg_proc_save_ptr(hg_proc_t proc, hg_size_t data_size)
{
    char *pos;

    if (proc == HG_PROC_NULL || proc->op == HG_FREE)
        return NULL;
    if (proc_need(proc, data_size) != HG_SUCCESS)
        return NULL;
    pos = proc->pos;
    if (data_size > 0)
        proc->pos += data_size;
    return pos;
}

hg_return_t
hg_proc_restore_ptr(hg_proc_t proc, void *data, hg_size_t data_size)
{
    uintptr_t offset;

    if (proc == HG_PROC_NULL || proc->op == HG_FREE)
        return HG_INVALID_ARG;
    offset = (uintptr_t) data - (uintptr_t) proc->start;
    if (offset > proc_used(proc) || data_size > proc_used(proc) - offset)
        return HG_INVALID_ARG;
    return HG_SUCCESS;
}

void *
hg_proc_get_extra_buf(hg_proc_t proc)
{
    return proc != HG_PROC_NULL && proc->extra ? proc->start : NULL;
}

hg_size_t
hg_proc_get_extra_size(hg_proc_t proc)
{
    return proc != HG_PROC_NULL && proc->extra ? hg_proc_get_size(proc) : 0;
}

hg_return_t
hg_proc_set_extra_buf_is_mine(hg_proc_t proc, uint8_t mine)
{
    if (proc == HG_PROC_NULL || !proc->extra)
        return HG_INVALID_ARG;
    proc->extra_is_callers = mine != 0;
    return HG_SUCCESS;
}

hg_class_t *
hg_proc_get_class(hg_proc_t proc)
{
    return proc != HG_PROC_NULL ? proc->hg_class : NULL;
}

void
hg_proc_set_handle(hg_proc_t proc, hg_handle_t handle)
{
    if (proc != HG_PROC_NULL)
        proc->handle = handle;
}

hg_handle_t
hg_proc_get_handle(hg_proc_t proc)
{
    return proc != HG_PROC_NULL ? proc->handle : HG_HANDLE_NULL;
}

void
hg_proc_set_flags(hg_proc_t proc, uint8_t flags)
{
    if (proc != HG_PROC_NULL)
        proc->flags = flags;
}

uint8_t
hg_proc_get_flags(hg_proc_t proc)
{
    return proc != HG_PROC_NULL ? proc->flags : 0;
}

hg_size_t
hg_proc_get_size(hg_proc_t proc)
{
    return proc != HG_PROC_NULL ? (hg_size_t) (proc->end - proc->start) : 0;
}

hg_size_t
hg_proc_get_size_used(hg_proc_t proc)
{
    return proc != HG_PROC_NULL ? proc_used(proc) : 0;
}

hg_size_t
hg_proc_get_size_left(hg_proc_t proc)
{
    return proc != HG_PROC_NULL ? proc_left(proc) : 0;
}
