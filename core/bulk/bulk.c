/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors: their memory, its registration, and access to it. */
#include "bulk/bulk.h"

#include "base/log.h"
#include "na.h"
#include "na/call.h"
#include "na/class.h"
#include "talaria.h"

#include <stdlib.h>
#include <string.h>

/* Memory allocated by a descriptor. */
#define ALLOC_ALIGN 64U
#define PLUGIN_ALLOC (1U << 20) /* bytes from which the plugin allocates it */

/* The parts follow the segments in one block. */
_Static_assert(sizeof(na_plugin_segment) % _Alignof(struct bulk_part) == 0 &&
                   sizeof(struct hg_bulk) % _Alignof(na_plugin_segment) == 0,
    "what a descriptor points to follows it");

/* The most aligned data come first, single bytes last. */
#define WIRE_ALIGN 16U

struct hg_bulk *
bulk_alloc(struct bulk_class *bulk_class, uint32_t segment_count,
    const uint32_t part_counts[RT_TRANSPORTS], size_t bytes)
{
    size_t parts = (size_t) part_counts[RT_MAIN] + part_counts[RT_LOCAL];
    size_t zeroed = sizeof(struct hg_bulk) +
                    segment_count * sizeof(na_plugin_segment) +
                    parts * sizeof(struct bulk_part);
    size_t front = (zeroed + WIRE_ALIGN - 1) & ~(WIRE_ALIGN - 1UL);
    struct hg_bulk *bulk = malloc(front + bytes);

    if (!bulk)
        return NULL;
    memset(bulk, 0, zeroed);
    bulk->bulk_class = bulk_class;
    atomic_init(&bulk->refs, 1);
    bulk->segment_count = segment_count;
    bulk->segments = (na_plugin_segment *) (bulk + 1);
    bulk->sides[RT_MAIN].parts =
        (struct bulk_part *) (bulk->segments + segment_count);
    bulk->sides[RT_MAIN].part_count = part_counts[RT_MAIN];
    bulk->sides[RT_LOCAL].parts =
        bulk->sides[RT_MAIN].parts + part_counts[RT_MAIN];
    bulk->sides[RT_LOCAL].part_count = part_counts[RT_LOCAL];
    bulk->wire = (unsigned char *) bulk + front;
    return bulk;
}

/* Returns the class that allocates large segments, or NULL. */
static struct na_class *
class_with_memory(const struct bulk_class *bulk_class)
{
    if (bulk_class->na_class->mem_alloc)
        return bulk_class->na_class;
    return bulk_class->sm_class && bulk_class->sm_class->mem_alloc
               ? bulk_class->sm_class
               : NULL;
}

static void
free_segments(struct hg_bulk *bulk)
{
    for (uint32_t i = 0; i < bulk->segment_count; i++)
        if (bulk->allocated[i] == BULK_PLUGINS)
            talaria_mem_free(
                class_with_memory(bulk->bulk_class), bulk->segments[i].base);
        else if (bulk->allocated[i] == BULK_SYSTEMS)
            free(bulk->segments[i].base);
}

static void
free_parts(struct hg_bulk *bulk, unsigned side)
{
    struct na_class *na_class = bulk_side_class(bulk->bulk_class, side);
    struct bulk_side *from = &bulk->sides[side];

    for (uint32_t i = 0; i < from->part_count; i++) {
        if (from->parts[i].mem && bulk->remote)
            na_mem_remote_free(na_class, from->parts[i].mem);
        else if (from->parts[i].mem)
            na_mem_deregister(na_class, from->parts[i].mem);
    }
    from->part_count = 0;
    from->usable = false;
}

static void
bulk_destroy(struct hg_bulk *bulk)
{
    bulk_owned_forget(bulk);
    for (unsigned side = 0; side < RT_TRANSPORTS; side++) {
        free_parts(bulk, side);
        na_peer_release(&bulk->sides[side].addr);
    }
    if (bulk->allocated)
        free_segments(bulk);
    free(bulk);
}

hg_return_t
HG_Bulk_free(hg_bulk_t handle)
{
    if (!handle)
        return HG_SUCCESS;
    /* Release: uses through this reference come before; acquire: in the last
     * one, before the descriptor is destroyed. */
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

/* Allocates zeroed memory for a segment. If the plugin fails, it may lack file
 * descriptors, so ordinary memory is tried. */
static void *
segment_alloc(struct hg_bulk *bulk, uint32_t i, size_t size)
{
    struct na_class *na_class = class_with_memory(bulk->bulk_class);
    size_t rounded = (size + ALLOC_ALIGN - 1) & ~(ALLOC_ALIGN - 1UL);
    void *base;

    if (size >= PLUGIN_ALLOC && na_class &&
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

/* Fills in the segments, and allocates missing memory. */
static hg_return_t
set_segments(struct hg_bulk *bulk, void **buf_ptrs, const hg_size_t *buf_sizes)
{
    for (uint32_t i = 0; i < bulk->segment_count; i++) {
        void *base = buf_ptrs ? buf_ptrs[i] : NULL;
        size_t size = buf_sizes[i];

        /* Limited to the size of an object, so that sums don't wrap. */
        if (size > PTRDIFF_MAX - bulk->size) {
            LOG_ERROR(
                BULK, "segment %u of %zu bytes: total size too large", i, size);
            return HG_INVALID_ARG;
        }
        if (!base && size > 0) {
            base = segment_alloc(bulk, i, size);
            if (!base)
                return HG_NOMEM;
        }
        bulk->segments[i] = (na_plugin_segment){.base = base, .length = size};
        bulk->size += size;
    }
    return HG_SUCCESS;
}

/* Registers segments, none of them empty, as one part. */
static na_return_t
register_part(struct hg_bulk *bulk, struct na_class *na_class,
    struct bulk_part *part, const na_plugin_segment *segments, size_t count,
    const struct hg_bulk_attr *attrs)
{
    for (size_t i = 0; i < count; i++)
        part->size += segments[i].length;
    return na_mem_segments(na_class, segments, count, bulk->flags,
        (uint32_t) attrs->mem_type, attrs->device, &part->mem);
}

/* Registers with one transport. filled: the segments that are not empty. */
static hg_return_t
register_side(struct hg_bulk *bulk, unsigned side,
    const na_plugin_segment *filled, size_t count,
    const struct hg_bulk_attr *attrs)
{
    struct na_class *na_class = bulk_side_class(bulk->bulk_class, side);
    struct bulk_side *to = &bulk->sides[side];
    size_t max = na_class->opened.max_segments;

    for (uint32_t i = 0; i < to->part_count; i++) {
        size_t take = count < max ? count : max;
        na_return_t ret =
            register_part(bulk, na_class, &to->parts[i], filled, take, attrs);

        /* On failure the parts are freed with the descriptor. */
        if (ret != NA_SUCCESS)
            return (hg_return_t) ret;
        filled += take;
        count -= take;
    }
    to->usable = true;
    return HG_SUCCESS;
}

/* Gets our own address of a transport, if peers can use it. */
static na_return_t
self_with_form(struct na_class *na_class, na_plugin_addr **addr_p)
{
    uint64_t size = 0;
    na_return_t ret = na_addr_own(na_class, addr_p);

    if (ret != NA_SUCCESS)
        return ret;
    ret = na_addr_serialize(na_class, *addr_p, NULL, &size);
    if (ret != NA_SUCCESS)
        na_addr_free(na_class, *addr_p);
    return ret;
}

static hg_return_t
bind(struct hg_bulk *bulk)
{
    for (unsigned side = 0; side < RT_TRANSPORTS; side++) {
        struct na_class *na_class = bulk_side_class(bulk->bulk_class, side);
        struct hg_addr *addr = &bulk->sides[side].addr;
        na_plugin_addr *self;
        na_return_t ret;

        if (!na_class || addr->addr) /* bound before: the address is the same */
            continue;
        ret = self_with_form(na_class, &self);
        if (ret == NA_SUCCESS) {
            na_peer_set(addr, na_class, self);
            addr->self = true;
        } else if (side == RT_MAIN) {
            return (hg_return_t) ret;
        }
    }
    bulk->bound = true;
    return HG_SUCCESS;
}

/* Registers with the transports of the class. */
static hg_return_t
register_sides(struct hg_bulk *bulk, const na_plugin_segment *filled,
    size_t count, const struct hg_bulk_attr *attrs)
{
    hg_return_t ret = register_side(bulk, RT_MAIN, filled, count, attrs);

    if (ret != HG_SUCCESS || !bulk->bulk_class->sm_class ||
        register_side(bulk, RT_LOCAL, filled, count, attrs) == HG_SUCCESS)
        return ret;
    LOG_INFO(
        BULK, "%zu segments are not registered for peers of this node", count);
    free_parts(bulk, RT_LOCAL);
    /* Peers that know us by shared memory need our other address. */
    (void) bind(bulk);
    return HG_SUCCESS;
}

/* Registers all segments but the empty ones, which plugins refuse. */
static hg_return_t
register_filled(
    struct hg_bulk *bulk, uint32_t filled, const struct hg_bulk_attr *attrs)
{
    na_plugin_segment *segments;
    uint32_t count = 0;
    hg_return_t ret;

    if (filled == bulk->segment_count)
        return register_sides(bulk, bulk->segments, filled, attrs);
    segments = calloc(filled + 1UL, sizeof *segments);
    if (!segments)
        return HG_NOMEM;
    for (uint32_t i = 0; i < bulk->segment_count; i++)
        if (bulk->segments[i].length > 0)
            segments[count++] = bulk->segments[i];
    ret = register_sides(bulk, segments, count, attrs);
    free(segments);
    return ret;
}

/* Returns the number of segments that are not empty, and whether memory has to
 * be allocated for some of them. */
static uint32_t
survey(uint32_t count, void **buf_ptrs, const hg_size_t *buf_sizes,
    bool *missing_p)
{
    uint32_t filled = 0;

    *missing_p = false;
    for (uint32_t i = 0; i < count; i++) {
        if (buf_sizes[i] == 0)
            continue;
        filled++;
        *missing_p = *missing_p || !buf_ptrs || !buf_ptrs[i];
    }
    return filled;
}

/* Returns the number of registrations for that many segments. */
static uint32_t
parts_needed(const struct na_class *na_class, uint64_t filled)
{
    uint64_t max = na_class ? na_class->opened.max_segments : UINT64_MAX;

    return na_class ? (uint32_t) (filled / max + (filled % max > 0)) : 0;
}

static bool
device_refused(const struct bulk_class *bulk_class,
    const struct hg_bulk_attr *attrs, bool missing)
{
    const struct na_class *na_class = bulk_class->na_class;

    if (attrs->mem_type == HG_MEM_TYPE_HOST)
        return false;
    if (!(na_class->opened.features & NA_PLUGIN_FEATURE_MEM_DEVICE)) {
        LOG_ERROR(BULK, "%s+%s can't reach memory of type %d",
            na_class->plugin->name, na_class->protocol, (int) attrs->mem_type);
        return true;
    }
    if (missing)
        LOG_ERROR(BULK, "memory of type %d can't be allocated here",
            (int) attrs->mem_type);
    return missing;
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
    static const struct hg_bulk_attr host = {.mem_type = HG_MEM_TYPE_HOST};
    struct bulk_class *bulk_class = bulk_class_of(hg_class);
    uint32_t parts[RT_TRANSPORTS], filled;
    struct hg_bulk *bulk;
    hg_return_t ret;
    bool missing;

    if (!attrs)
        attrs = &host;
    if (!hg_class || count == 0 || !buf_sizes || !handle || flags == 0 ||
        (flags & ~HG_BULK_READWRITE) != 0 || attrs->mem_type >= HG_MEM_TYPE_MAX)
        return HG_INVALID_ARG;
    filled = survey(count, buf_ptrs, buf_sizes, &missing);
    if (device_refused(bulk_class, attrs, missing))
        return HG_OPNOTSUPPORTED;
    parts[RT_MAIN] = parts_needed(bulk_class->na_class, filled);
    parts[RT_LOCAL] = parts_needed(bulk_class->sm_class, filled);
    bulk = bulk_alloc(bulk_class, count, parts, missing ? count : 0);
    if (!bulk)
        return HG_NOMEM;
    if (missing) {
        bulk->allocated = bulk->wire;
        memset(bulk->allocated, BULK_CALLERS, count);
    }
    bulk->flags = flags;
    bulk->device = attrs->mem_type != HG_MEM_TYPE_HOST;
    ret = set_segments(bulk, buf_ptrs, buf_sizes);
    if (ret == HG_SUCCESS)
        ret = register_filled(bulk, filled, attrs);
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
    hg_return_t ret;

    if (!handle || handle->remote || !context ||
        bulk_context_of(context)->bulk_class != handle->bulk_class)
        return HG_INVALID_ARG;
    ret = bind(handle);
    if (ret == HG_SUCCESS)
        handle->context_id = bulk_context_of(context)->na_context->id;
    return ret;
}

hg_addr_t
HG_Bulk_get_addr(hg_bulk_t handle)
{
    if (!handle || !handle->bound)
        return HG_ADDR_NULL;
    /* The address by shared memory, if it leads to the peer. */
    if (handle->remote && handle->sides[RT_LOCAL].addr.addr)
        return &handle->sides[RT_LOCAL].addr;
    return handle->sides[RT_MAIN].addr.addr ? &handle->sides[RT_MAIN].addr
                                            : HG_ADDR_NULL;
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
    const na_plugin_segment *segments;
    na_plugin_segment inside;
    uint32_t segment_count, count = 0;

    if (!handle || offset > handle->size || size > handle->size - offset)
        return HG_INVALID_ARG;
    /* As with Mercury, access flags do not restrict the process that owns the
     * memory. */
    if (handle->remote && (flags & ~handle->flags) != 0)
        return HG_PERMISSION;
    if (handle->remote && !handle->data)
        return HG_OPNOTSUPPORTED;
    segments = handle->segments;
    segment_count = handle->remote ? 1 : handle->segment_count;
    if (handle->remote) {
        inside =
            (na_plugin_segment){.base = handle->data, .length = handle->size};
        segments = &inside;
    }
    for (uint32_t i = 0; i < segment_count && size > 0; i++) {
        const na_plugin_segment *segment = &segments[i];
        hg_size_t length;

        if (offset >= segment->length) {
            offset -= segment->length;
            continue;
        }
        length =
            segment->length - offset < size ? segment->length - offset : size;
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
