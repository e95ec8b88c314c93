/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors: their memory, its registration, access to it. */
#include "bulk/bulk.h"

#include "base/log.h"
#include "na.h"
#include "na/class.h"
#include "na/op.h"
#include "talaria.h"

#include <stdlib.h>
#include <string.h>

/* Memory that a descriptor allocates itself. */
#define ALLOC_ALIGN 64U
#define PLUGIN_ALLOC (1U << 20) /* bytes from which the plugin's is worth it */

struct hg_bulk *
bulk_alloc(
    struct bulk_class *bulk_class, uint32_t segment_count, uint32_t part_count)
{
    struct hg_bulk *bulk = calloc(1, sizeof *bulk);

    if (!bulk)
        return NULL;
    bulk->bulk_class = bulk_class;
    atomic_init(&bulk->refs, 1);
    bulk->segment_count = segment_count;
    bulk->part_count = part_count;
    /* One more than needed, so that none is no special case. */
    bulk->segments = calloc(segment_count + 1UL, sizeof *bulk->segments);
    bulk->allocated = calloc(segment_count + 1UL, sizeof *bulk->allocated);
    bulk->parts = calloc(part_count + 1UL, sizeof *bulk->parts);
    if (!bulk->segments || !bulk->allocated || !bulk->parts) {
        HG_Bulk_free(bulk);
        return NULL;
    }
    return bulk;
}

static void
bulk_destroy(struct hg_bulk *bulk)
{
    struct na_class *na_class = bulk->bulk_class->na_class;

    for (uint32_t i = 0; bulk->parts && i < bulk->part_count; i++)
        NA_Mem_handle_free(na_class, bulk->parts[i].mem);
    for (uint32_t i = 0; bulk->allocated && bulk->segments && !bulk->remote &&
                         i < bulk->segment_count;
         i++)
        if (bulk->allocated[i] == BULK_PLUGINS)
            talaria_mem_free(na_class, bulk->segments[i].base);
        else if (bulk->allocated[i] == BULK_SYSTEMS)
            free(bulk->segments[i].base);
    na_peer_release(&bulk->addr);
    free(bulk->segments);
    free(bulk->allocated);
    free(bulk->parts);
    free(bulk);
}

hg_return_t
HG_Bulk_free(hg_bulk_t handle)
{
    if (!handle)
        return HG_SUCCESS;
    /* Release: what was done through this reference comes before; acquire: in
     * the last one, before the end. */
    if (atomic_fetch_sub_explicit(&handle->refs, 1, memory_order_acq_rel) == 1)
        bulk_destroy(handle);
    return HG_SUCCESS;
}

hg_return_t
HG_Bulk_ref_incr(hg_bulk_t handle)
{
    if (!handle)
        return HG_INVALID_ARG;
    atomic_fetch_add_explicit(&handle->refs, 1, memory_order_relaxed);
    return HG_SUCCESS;
}

/* Memory for a segment, zeroed. What the plugin may lack is descriptors, hence
 * the second try. */
static void *
segment_alloc(struct hg_bulk *bulk, uint32_t i, size_t size)
{
    struct na_class *na_class = bulk->bulk_class->na_class;
    size_t rounded = (size + ALLOC_ALIGN - 1) & ~(ALLOC_ALIGN - 1UL);
    void *base;

    if (size >= PLUGIN_ALLOC && na_class->mem_alloc &&
        talaria_mem_alloc(na_class, size, &base) == NA_SUCCESS) {
        bulk->allocated[i] = BULK_PLUGINS;
        return base;
    }
    base = aligned_alloc(ALLOC_ALIGN, rounded);
    if (!base)
        return NULL;
    memset(base, 0, rounded);
    bulk->allocated[i] = BULK_SYSTEMS;
    return base;
}

/* Fills in the segments, allocating what the caller has no memory for. */
static hg_return_t
set_segments(struct hg_bulk *bulk, void **buf_ptrs, const hg_size_t *buf_sizes)
{
    for (uint32_t i = 0; i < bulk->segment_count; i++) {
        void *base = buf_ptrs ? buf_ptrs[i] : NULL;
        size_t size = buf_sizes[i];

        /* No more than a process could have, so that sums do not wrap. */
        if (size > PTRDIFF_MAX - bulk->size) {
            LOG_ERROR(
                BULK, "segment %u of %zu bytes: too many in all", i, size);
            return HG_INVALID_ARG;
        }
        if (!base && size > 0) {
            base = segment_alloc(bulk, i, size);
            if (!base)
                return HG_NOMEM;
        }
        bulk->segments[i] = (struct na_segment){.base = base, .len = size};
        bulk->size += size;
    }
    return HG_SUCCESS;
}

/* Registers the next segments that are not empty as one part. */
static na_return_t
register_part(struct hg_bulk *bulk, struct bulk_part *part, uint32_t *next_p,
    enum na_mem_type mem_type, uint64_t device)
{
    struct na_class *na_class = bulk->bulk_class->na_class;
    size_t max = na_class->opened.max_segments, count = 0;
    struct na_segment *segments;
    uint32_t i = *next_p;
    na_return_t ret;

    if (max > bulk->segment_count - i)
        max = bulk->segment_count - i;
    segments = calloc(max, sizeof *segments);
    if (!segments)
        return NA_NOMEM;
    for (; i < bulk->segment_count && count < max; i++) {
        if (bulk->segments[i].len == 0)
            continue;
        segments[count++] = bulk->segments[i];
        part->size += bulk->segments[i].len;
    }
    ret = NA_Mem_handle_create_segments(
        na_class, segments, count, bulk->flags, &part->mem);
    free(segments);
    if (ret != NA_SUCCESS)
        return ret;
    *next_p = i;
    /* On failure the part is freed with the descriptor. */
    return NA_Mem_register(na_class, part->mem, mem_type, device);
}

static hg_return_t
register_parts(struct hg_bulk *bulk, enum na_mem_type mem_type, uint64_t device)
{
    uint32_t next = 0;

    for (uint32_t i = 0; i < bulk->part_count; i++) {
        na_return_t ret =
            register_part(bulk, &bulk->parts[i], &next, mem_type, device);

        if (ret != NA_SUCCESS)
            return (hg_return_t) ret;
    }
    return HG_SUCCESS;
}

/* Registrations that so many pieces of memory take. */
static uint32_t
parts_needed(
    const struct na_class *na_class, uint32_t count, const hg_size_t *buf_sizes)
{
    uint64_t filled = 0, max = na_class->opened.max_segments;

    for (uint32_t i = 0; i < count; i++)
        filled += buf_sizes[i] > 0;
    return (uint32_t) ((filled + max - 1) / max);
}

hg_return_t
HG_Bulk_create(hg_class_t *hg_class, uint32_t count, void **buf_ptrs,
    const hg_size_t *buf_sizes, uint8_t flags, hg_bulk_t *handle)
{
    return HG_Bulk_create_attr(
        hg_class, count, buf_ptrs, buf_sizes, flags, NULL, handle);
}

hg_return_t
HG_Bulk_create_attr(hg_class_t *hg_class, uint32_t count, void **buf_ptrs,
    const hg_size_t *buf_sizes, uint8_t flags, const struct hg_bulk_attr *attrs,
    hg_bulk_t *handle)
{
    struct bulk_class *bulk_class = bulk_class_of(hg_class);
    hg_mem_type_t mem_type = attrs ? attrs->mem_type : HG_MEM_TYPE_HOST;
    struct hg_bulk *bulk;
    hg_return_t ret;

    if (!hg_class || count == 0 || !buf_sizes || !handle || flags == 0 ||
        (flags & ~HG_BULK_READWRITE) != 0 || mem_type >= HG_MEM_TYPE_MAX)
        return HG_INVALID_ARG;
    if (mem_type != HG_MEM_TYPE_HOST && !buf_ptrs)
        return HG_OPNOTSUPPORTED;
    bulk = bulk_alloc(bulk_class, count,
        parts_needed(bulk_class->na_class, count, buf_sizes));
    if (!bulk)
        return HG_NOMEM;
    bulk->flags = flags;
    ret = set_segments(bulk, buf_ptrs, buf_sizes);
    if (ret == HG_SUCCESS)
        ret = register_parts(
            bulk, (enum na_mem_type) mem_type, attrs ? attrs->device : 0);
    if (ret != HG_SUCCESS) {
        HG_Bulk_free(bulk);
        return ret;
    }
    *handle = bulk;
    return HG_SUCCESS;
}

hg_return_t
HG_Bulk_bind(hg_bulk_t handle, hg_context_t *context)
{
    struct bulk_context *bulk_context = bulk_context_of(context);
    struct na_class *na_class;
    na_plugin_addr *addr;
    uint64_t size = 0;
    int32_t code;

    if (!handle || handle->remote || !context ||
        bulk_context->bulk_class != handle->bulk_class)
        return HG_INVALID_ARG;
    na_class = handle->bulk_class->na_class;
    code = na_class->ops.addr_self(na_class->plugin_class, &addr);
    if (code != NA_PLUGIN_OK)
        return (hg_return_t) na_code(code);
    /* Not every address has a form that a peer could use. */
    code =
        na_class->ops.addr_serialize(na_class->plugin_class, addr, NULL, &size);
    if (code != NA_PLUGIN_OK) {
        na_class->ops.addr_free(na_class->plugin_class, addr);
        return (hg_return_t) na_code(code);
    }
    na_peer_release(&handle->addr);
    na_peer_set(&handle->addr, na_class, addr);
    handle->context_id = bulk_context->na_context->id;
    handle->bound = true;
    return HG_SUCCESS;
}

hg_addr_t
HG_Bulk_get_addr(hg_bulk_t handle)
{
    return handle && handle->bound ? &handle->addr : HG_ADDR_NULL;
}

uint8_t
HG_Bulk_get_context_id(hg_bulk_t handle)
{
    return handle ? handle->context_id : 0;
}

hg_size_t
HG_Bulk_get_size(hg_bulk_t handle)
{
    return handle ? handle->size : 0;
}

uint32_t
HG_Bulk_get_segment_count(hg_bulk_t handle)
{
    return handle ? handle->segment_count : 0;
}

uint8_t
HG_Bulk_get_flags(hg_bulk_t handle)
{
    return handle ? handle->flags : 0;
}

hg_return_t
HG_Bulk_access(hg_bulk_t handle, hg_size_t offset, hg_size_t size,
    uint8_t flags, uint32_t max_count, void **buf_ptrs, hg_size_t *buf_sizes,
    uint32_t *actual_count)
{
    uint32_t count = 0;

    if (!handle || offset > handle->size || size > handle->size - offset)
        return HG_INVALID_ARG;
    if ((flags & ~handle->flags) != 0)
        return HG_PERMISSION;
    if (handle->remote)
        return HG_OPNOTSUPPORTED;
    for (uint32_t i = 0; i < handle->segment_count && size > 0; i++) {
        const struct na_segment *segment = &handle->segments[i];
        hg_size_t length;

        if (offset >= segment->len) {
            offset -= segment->len;
            continue;
        }
        length = segment->len - offset < size ? segment->len - offset : size;
        if (count < max_count && buf_ptrs)
            buf_ptrs[count] = (char *) segment->base + offset;
        if (count < max_count && buf_sizes)
            buf_sizes[count] = length;
        count++;
        size -= length;
        offset = 0;
    }
    if (actual_count)
        *actual_count = count;
    return HG_SUCCESS;
}
