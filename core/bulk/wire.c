/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire form of a descriptor, little-endian:
 *
 *    0  u8   version (1)
 *    1  u8   flags: HG_BULK_READ_ONLY, HG_BULK_WRITE_ONLY, bit 7: bound
 *    2  u8   context id of the owner, when bound
 *    3  u8   0
 *    4  u32  segments
 *    8  u64  bytes of all segments
 *   16  u32  parts
 *   20  u32  bytes of the owner's address, when bound, else 0
 *   24       for each part: u64 bytes of memory, u32 length of the transport's
 *            form of its registration, that form
 *            the transport's form of the owner's address
 */
#include "bulk/bulk.h"

#include "base/log.h"
#include "na.h"
#include "na/op.h"
#include "proc/proc.h"

#define WIRE_VERSION 1U
#define WIRE_BOUND 0x80U
#define WIRE_HEADER_SIZE 24U
#define WIRE_PART_SIZE 12U

static uint64_t
addr_size(const struct hg_bulk *bulk)
{
    struct na_class *na_class = bulk->bulk_class->na_class;
    uint64_t size = 0;

    if (bulk->bound)
        na_class->ops.addr_serialize(
            na_class->plugin_class, bulk->addr.addr, NULL, &size);
    return size;
}

hg_size_t
HG_Bulk_get_serialize_size(hg_bulk_t handle, unsigned long flags)
{
    hg_size_t size = WIRE_HEADER_SIZE;

    if (!handle)
        return 0;
    for (uint32_t i = 0; i < handle->part_count; i++)
        size += WIRE_PART_SIZE +
                NA_Mem_handle_get_serialize_size(
                    handle->bulk_class->na_class, handle->parts[i].mem);
    return size + addr_size(handle);
}

static hg_return_t
encode_header(struct hg_proc *proc, const struct hg_bulk *bulk)
{
    uint8_t bytes[4] = {WIRE_VERSION,
        (uint8_t) (bulk->flags | (bulk->bound ? WIRE_BOUND : 0)),
        bulk->context_id, 0};
    uint32_t segments = bulk->segment_count, parts = bulk->part_count;
    uint32_t addr = (uint32_t) addr_size(bulk);
    uint64_t size = bulk->size;
    hg_return_t ret = hg_proc_bytes(proc, bytes, sizeof bytes);

    if (ret == HG_SUCCESS)
        ret = hg_proc_uint32_t(proc, &segments);
    if (ret == HG_SUCCESS)
        ret = hg_proc_uint64_t(proc, &size);
    if (ret == HG_SUCCESS)
        ret = hg_proc_uint32_t(proc, &parts);
    return ret == HG_SUCCESS ? hg_proc_uint32_t(proc, &addr) : ret;
}

static hg_return_t
encode_part(struct hg_proc *proc, struct na_class *na_class,
    const struct bulk_part *part)
{
    uint64_t size = part->size;
    uint32_t length =
        (uint32_t) NA_Mem_handle_get_serialize_size(na_class, part->mem);
    hg_return_t ret = hg_proc_uint64_t(proc, &size);
    void *bytes;

    if (ret == HG_SUCCESS)
        ret = hg_proc_uint32_t(proc, &length);
    if (ret != HG_SUCCESS)
        return ret;
    bytes = hg_proc_save_ptr(proc, length);
    if (!bytes)
        return HG_OVERFLOW;
    return (hg_return_t) NA_Mem_handle_serialize(
        na_class, bytes, length, part->mem);
}

static hg_return_t
encode(struct hg_proc *proc, const struct hg_bulk *bulk)
{
    struct na_class *na_class = bulk->bulk_class->na_class;
    hg_return_t ret = encode_header(proc, bulk);
    uint64_t length;
    void *bytes;

    for (uint32_t i = 0; ret == HG_SUCCESS && i < bulk->part_count; i++)
        ret = encode_part(proc, na_class, &bulk->parts[i]);
    if (ret != HG_SUCCESS || !bulk->bound)
        return ret;
    length = addr_size(bulk);
    bytes = hg_proc_save_ptr(proc, length);
    if (!bytes)
        return HG_OVERFLOW;
    return (hg_return_t) na_code(na_class->ops.addr_serialize(
        na_class->plugin_class, bulk->addr.addr, bytes, &length));
}

hg_return_t
HG_Bulk_serialize(
    void *buf, hg_size_t buf_size, unsigned long flags, hg_bulk_t handle)
{
    struct hg_proc proc;
    hg_return_t ret;

    if (!buf || !handle || handle->remote)
        return HG_INVALID_ARG;
    if (buf_size < HG_Bulk_get_serialize_size(handle, flags))
        return HG_OVERFLOW;
    proc_init(&proc, NULL, NULL, HG_NOHASH);
    ret = hg_proc_reset(&proc, buf, buf_size, HG_ENCODE);
    if (ret == HG_SUCCESS)
        ret = encode(&proc, handle);
    proc_finish(&proc);
    return ret;
}

static hg_return_t
decode_header(struct hg_proc *proc, struct bulk_class *bulk_class,
    struct hg_bulk **bulk_p, uint32_t *addr_size_p)
{
    uint8_t bytes[4];
    uint32_t segments, parts, addr;
    uint64_t size;
    struct hg_bulk *bulk;

    if (hg_proc_bytes(proc, bytes, sizeof bytes) != HG_SUCCESS ||
        hg_proc_uint32_t(proc, &segments) != HG_SUCCESS ||
        hg_proc_uint64_t(proc, &size) != HG_SUCCESS ||
        hg_proc_uint32_t(proc, &parts) != HG_SUCCESS ||
        hg_proc_uint32_t(proc, &addr) != HG_SUCCESS ||
        bytes[0] != WIRE_VERSION || bytes[3] != 0 ||
        (bytes[1] & HG_BULK_READWRITE) == 0 ||
        (bytes[1] & ~(HG_BULK_READWRITE | WIRE_BOUND)) != 0 ||
        (addr > 0) != ((bytes[1] & WIRE_BOUND) != 0) || segments == 0 ||
        parts > segments || parts > proc_left(proc) / WIRE_PART_SIZE)
        return HG_PROTOCOL_ERROR;
    /* Segments are only counted here, their memory is the owner's. */
    bulk = bulk_alloc(bulk_class, 0, parts);
    if (!bulk)
        return HG_NOMEM;
    bulk->remote = true;
    bulk->segment_count = segments;
    bulk->size = size;
    bulk->flags = bytes[1] & HG_BULK_READWRITE;
    bulk->context_id = bytes[2];
    *bulk_p = bulk;
    *addr_size_p = addr;
    return HG_SUCCESS;
}

static hg_return_t
decode_part(
    struct hg_proc *proc, struct na_class *na_class, struct bulk_part *part)
{
    uint32_t length;
    const void *bytes;

    if (hg_proc_uint64_t(proc, &part->size) != HG_SUCCESS ||
        hg_proc_uint32_t(proc, &length) != HG_SUCCESS)
        return HG_PROTOCOL_ERROR;
    bytes = hg_proc_save_ptr(proc, length);
    if (!bytes)
        return HG_PROTOCOL_ERROR;
    return (hg_return_t) NA_Mem_handle_deserialize(
        na_class, &part->mem, bytes, length);
}

static hg_return_t
decode_addr(struct hg_proc *proc, struct hg_bulk *bulk, uint32_t length)
{
    struct na_class *na_class = bulk->bulk_class->na_class;
    const void *bytes = hg_proc_save_ptr(proc, length);
    na_plugin_addr *addr;
    int32_t code;

    if (!bytes)
        return HG_PROTOCOL_ERROR;
    code = na_class->ops.addr_deserialize(
        na_class->plugin_class, bytes, length, &addr);
    if (code != NA_PLUGIN_OK)
        return (hg_return_t) na_code_of_bytes(code);
    na_peer_set(&bulk->addr, na_class, addr);
    bulk->bound = true;
    return HG_SUCCESS;
}

static hg_return_t
decode(struct hg_proc *proc, struct hg_bulk *bulk, uint32_t addr_length)
{
    struct na_class *na_class = bulk->bulk_class->na_class;
    hg_size_t total = 0;

    for (uint32_t i = 0; i < bulk->part_count; i++) {
        hg_return_t ret = decode_part(proc, na_class, &bulk->parts[i]);

        if (ret != HG_SUCCESS)
            return ret;
        if (bulk->parts[i].size > bulk->size - total)
            return HG_PROTOCOL_ERROR;
        total += bulk->parts[i].size;
    }
    if (total != bulk->size)
        return HG_PROTOCOL_ERROR;
    return addr_length > 0 ? decode_addr(proc, bulk, addr_length) : HG_SUCCESS;
}

hg_return_t
HG_Bulk_deserialize(hg_class_t *hg_class, hg_bulk_t *handle, const void *buf,
    hg_size_t buf_size)
{
    struct hg_proc proc;
    struct hg_bulk *bulk = NULL;
    uint32_t addr_length;
    hg_return_t ret;
    union {
        const void *in;
        void *out;
    } bytes = {.in = buf}; /* only read when decoding */

    if (!hg_class || !handle || !buf)
        return HG_INVALID_ARG;
    proc_init(&proc, NULL, NULL, HG_NOHASH);
    ret = hg_proc_reset(&proc, bytes.out, buf_size, HG_DECODE);
    if (ret == HG_SUCCESS)
        ret =
            decode_header(&proc, bulk_class_of(hg_class), &bulk, &addr_length);
    if (ret == HG_SUCCESS)
        ret = decode(&proc, bulk, addr_length);
    proc_finish(&proc);
    if (ret != HG_SUCCESS) {
        LOG_ERROR(BULK, "%llu bytes are not a descriptor: %s",
            (unsigned long long) buf_size,
            NA_Error_to_string((na_return_t) ret));
        HG_Bulk_free(bulk);
        return ret;
    }
    *handle = bulk;
    return HG_SUCCESS;
}

static hg_return_t
proc_encode(hg_proc_t proc, hg_bulk_t bulk)
{
    hg_size_t size = HG_Bulk_get_serialize_size(bulk, 0);
    hg_return_t ret = hg_proc_hg_size_t(proc, &size);
    void *bytes;

    if (ret != HG_SUCCESS || size == 0)
        return ret;
    bytes = hg_proc_save_ptr(proc, size);
    if (!bytes)
        return HG_NOMEM;
    ret = HG_Bulk_serialize(bytes, size, 0, bulk);
    if (ret != HG_SUCCESS)
        return ret;
    return hg_proc_restore_ptr(proc, bytes, size);
}

static hg_return_t
proc_decode(hg_proc_t proc, hg_bulk_t *bulk_p)
{
    hg_size_t size;
    hg_return_t ret = hg_proc_hg_size_t(proc, &size);
    void *bytes;

    if (ret != HG_SUCCESS)
        return ret;
    if (size == 0) {
        *bulk_p = HG_BULK_NULL;
        return HG_SUCCESS;
    }
    bytes = hg_proc_save_ptr(proc, size);
    if (!bytes)
        return HG_OVERFLOW;
    ret = HG_Bulk_deserialize(hg_proc_get_class(proc), bulk_p, bytes, size);
    if (ret != HG_SUCCESS)
        return ret;
    return hg_proc_restore_ptr(proc, bytes, size);
}

hg_return_t
hg_proc_hg_bulk_t(hg_proc_t proc, void *data)
{
    hg_bulk_t *bulk_p = data;
    hg_return_t ret = HG_SUCCESS;

    switch (hg_proc_get_op(proc)) {
    case HG_ENCODE:
        return proc_encode(proc, *bulk_p);
    case HG_DECODE:
        return proc_decode(proc, bulk_p);
    case HG_FREE:
        ret = HG_Bulk_free(*bulk_p);
        *bulk_p = HG_BULK_NULL;
        return ret;
    }
    return HG_INVALID_ARG;
}
