/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into one side of talaria perf: flips byte 345 of every payload of
 * 500 bytes that is decoded, sent, put or pushed.
 */
#define TALARIA_NO_INLINE /* hg_proc_bytes is defined here */
#include <dlfcn.h>
#include <string.h>

#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_proc.h"
#include "na.h"

#define SIZE 500U
#define OFFSET 345U

/* The wrapped function. */
static void
find_next(void *function_p, const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);

    memcpy(function_p, &symbol, sizeof symbol);
}

static void
flip(const void *bytes)
{
    ((char *) (uintptr_t) bytes)[OFFSET] ^= 0x10;
}

hg_return_t
hg_proc_bytes(hg_proc_t proc, void *data, hg_size_t size)
{
    hg_return_t (*next)(hg_proc_t, void *, hg_size_t);
    hg_return_t ret;

    find_next(&next, "hg_proc_bytes");
    ret = next(proc, data, size);
    if (ret == HG_SUCCESS && size == SIZE && hg_proc_get_op(proc) == HG_DECODE)
        flip(data);
    return ret;
}

hg_return_t
HG_Bulk_transfer_id(hg_context_t *context, hg_cb_t callback, void *arg,
    hg_bulk_op_t op, hg_addr_t addr, uint8_t origin_id, hg_bulk_t origin,
    hg_size_t origin_offset, hg_bulk_t local, hg_size_t offset, hg_size_t size,
    hg_op_id_t *op_id)
{
    hg_return_t (*next)(hg_context_t *, hg_cb_t, void *, hg_bulk_op_t,
        hg_addr_t, uint8_t, hg_bulk_t, hg_size_t, hg_bulk_t, hg_size_t,
        hg_size_t, hg_op_id_t *);
    hg_size_t length = 0;
    void *bytes;

    find_next(&next, "HG_Bulk_transfer_id");
    if (op == HG_BULK_PUSH && size == SIZE &&
        HG_Bulk_access(local, offset, size, HG_BULK_READWRITE, 1, &bytes,
            &length, NULL) == HG_SUCCESS &&
        length == SIZE)
        flip(bytes);
    return next(context, callback, arg, op, addr, origin_id, origin,
        origin_offset, local, offset, size, op_id);
}

na_return_t
NA_Msg_send_unexpected(na_class_t *na_class, na_context_t *context,
    na_cb_t callback, void *arg, const void *buf, size_t buf_size,
    void *plugin_data, na_addr_t *addr, uint8_t id, na_tag_t tag,
    na_op_id_t *op_id)
{
    na_return_t (*next)(na_class_t *, na_context_t *, na_cb_t, void *,
        const void *, size_t, void *, na_addr_t *, uint8_t, na_tag_t,
        na_op_id_t *);

    find_next(&next, "NA_Msg_send_unexpected");
    if (buf_size == SIZE)
        flip(buf);
    return next(na_class, context, callback, arg, buf, buf_size, plugin_data,
        addr, id, tag, op_id);
}

na_return_t
NA_Msg_send_expected(na_class_t *na_class, na_context_t *context,
    na_cb_t callback, void *arg, const void *buf, size_t buf_size,
    void *plugin_data, na_addr_t *addr, uint8_t id, na_tag_t tag,
    na_op_id_t *op_id)
{
    na_return_t (*next)(na_class_t *, na_context_t *, na_cb_t, void *,
        const void *, size_t, void *, na_addr_t *, uint8_t, na_tag_t,
        na_op_id_t *);

    find_next(&next, "NA_Msg_send_expected");
    if (buf_size == SIZE)
        flip(buf);
    return next(na_class, context, callback, arg, buf, buf_size, plugin_data,
        addr, id, tag, op_id);
}

/* The memory of the last handle, which puts read from. */
static char *memory;

na_return_t
NA_Mem_handle_create(na_class_t *na_class, void *buf, size_t buf_size,
    unsigned long flags, na_mem_handle_t **mem_handle_p)
{
    na_return_t (*next)(
        na_class_t *, void *, size_t, unsigned long, na_mem_handle_t **);

    find_next(&next, "NA_Mem_handle_create");
    memory = buf;
    return next(na_class, buf, buf_size, flags, mem_handle_p);
}

na_return_t
NA_Put(na_class_t *na_class, na_context_t *context, na_cb_t callback, void *arg,
    na_mem_handle_t *local, na_offset_t local_offset, na_mem_handle_t *remote,
    na_offset_t remote_offset, size_t size, na_addr_t *addr, uint8_t id,
    na_op_id_t *op_id)
{
    na_return_t (*next)(na_class_t *, na_context_t *, na_cb_t, void *,
        na_mem_handle_t *, na_offset_t, na_mem_handle_t *, na_offset_t, size_t,
        na_addr_t *, uint8_t, na_op_id_t *);

    find_next(&next, "NA_Put");
    if (size == SIZE)
        flip(memory + local_offset);
    return next(na_class, context, callback, arg, local, local_offset, remote,
        remote_offset, size, addr, id, op_id);
}
