/* SPDX-License-Identifier: BSD-3-Clause */
/* Integers and raw bytes, for programs that do not have them inline. All other types
 * are made of these. */
#define TALARIA_NO_INLINE
#include "proc/proc.h"

#include "base/copy.h"

hg_proc_op_t
hg_proc_get_op(hg_proc_t proc)
{
    return proc->op;
}

static inline void
copy_integer(struct hg_proc *proc, void *data, size_t size)
{
    if (proc->op == HG_ENCODE)
        proc_copy_integer(proc->pos, data, size);
    else
        proc_copy_integer(data, proc->pos, size);
    proc->pos += size;
}

__attribute__((cold, noinline)) static hg_return_t
slow_integer(struct hg_proc *proc, void *data, size_t size)
{
    hg_return_t ret;

    if (proc->op == HG_FREE)
        return HG_SUCCESS;
    ret = proc_grow(proc, size);
    if (ret != HG_SUCCESS)
        return ret;
    copy_integer(proc, data, size);
    return HG_SUCCESS;
}

static inline hg_return_t
integer(struct hg_proc *proc, void *data, size_t size)
{
    if (__builtin_expect(size > proc_left(proc), 0))
        return slow_integer(proc, data, size);
    copy_integer(proc, data, size);
    return HG_SUCCESS;
}

hg_return_t
hg_proc_int8_t(hg_proc_t proc, void *data)
{
    return integer(proc, data, sizeof(int8_t));
}

hg_return_t
hg_proc_uint8_t(hg_proc_t proc, void *data)
{
    return integer(proc, data, sizeof(uint8_t));
}

hg_return_t
hg_proc_int16_t(hg_proc_t proc, void *data)
{
    return integer(proc, data, sizeof(int16_t));
}

hg_return_t
hg_proc_uint16_t(hg_proc_t proc, void *data)
{
    return integer(proc, data, sizeof(uint16_t));
}

hg_return_t
hg_proc_int32_t(hg_proc_t proc, void *data)
{
    return integer(proc, data, sizeof(int32_t));
}

hg_return_t
hg_proc_uint32_t(hg_proc_t proc, void *data)
{
    return integer(proc, data, sizeof(uint32_t));
}

hg_return_t
hg_proc_int64_t(hg_proc_t proc, void *data)
{
    return integer(proc, data, sizeof(int64_t));
}

hg_return_t
hg_proc_uint64_t(hg_proc_t proc, void *data)
{
    return integer(proc, data, sizeof(uint64_t));
}

__attribute__((cold, noinline)) static hg_return_t
slow_bytes(struct hg_proc *proc, void *data, hg_size_t size)
{
    hg_return_t ret;

    if (proc->op == HG_FREE)
        return HG_SUCCESS;
    ret = proc_grow(proc, size);
    return ret == HG_SUCCESS ? hg_proc_bytes(proc, data, size) : ret;
}

static __attribute__((noinline)) hg_return_t
copy_any(void *to, const void *from, size_t size)
{
    base_copy(to, from, size);
    return HG_SUCCESS;
}

hg_return_t
hg_proc_bytes(hg_proc_t proc, void *data, hg_size_t data_size)
{
    char *pos = proc->pos;

    if (__builtin_expect(data_size > proc_left(proc), 0))
        return slow_bytes(proc, data, data_size);
    proc->pos = pos + data_size;
    /* Two copies of the inline code: exchanging the pointers takes as long as
     * copying bytes. A tail call needs no stack frame. */
    if (proc->op == HG_ENCODE)
        return base_copy_short(pos, data, (size_t) data_size)
                   ? HG_SUCCESS
                   : copy_any(pos, data, (size_t) data_size);
    return base_copy_short(data, pos, (size_t) data_size)
               ? HG_SUCCESS
               : copy_any(data, pos, (size_t) data_size);
}
