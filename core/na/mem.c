/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory handles of the NA interface. */
#include "na/mem.h"

#include "na.h"
#include "na/call.h"
#include "na/class.h"
#include "na/violation.h"

#include "base/log.h"
#include "talaria.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALLOC_ALIGN 64UL /* if the plugin does not allocate memory */

_Static_assert(NA_MEM_READ_ONLY == NA_PLUGIN_MEM_READ &&
                   NA_MEM_WRITE_ONLY == NA_PLUGIN_MEM_WRITE,
    "access bits are passed on");
_Static_assert(NA_MEM_TYPE_HOST == NA_PLUGIN_MEM_HOST &&
                   NA_MEM_TYPE_ZE == NA_PLUGIN_MEM_ZE,
    "memory types are passed on");

na_return_t
NA_Mem_handle_create(na_class_t *na_class, void *buf, size_t buf_size,
    unsigned long flags, na_mem_handle_t **mem_handle_p)
{
    struct na_segment segment = {.base = buf, .len = buf_size};

    return NA_Mem_handle_create_segments(
        na_class, &segment, 1, flags, mem_handle_p);
}

na_return_t
NA_Mem_handle_create_segments(na_class_t *na_class, struct na_segment *segments,
    size_t segment_count, unsigned long flags, na_mem_handle_t **mem_handle_p)
{
    struct na_mem_handle *handle;

    if (!na_class || !segments || segment_count == 0 || !mem_handle_p ||
        (flags & NA_MEM_READWRITE) == 0 ||
        (flags & ~(unsigned long) NA_MEM_READWRITE) != 0)
        return NA_INVALID_ARG;
    if (segment_count > na_class->opened.max_segments) {
        LOG_ERROR(NA, "%zu segments in one handle, at most %llu with %s",
            segment_count, (unsigned long long) na_class->opened.max_segments,
            na_class->plugin->name);
        return na_class->opened.max_segments == 1 ? NA_OPNOTSUPPORTED
                                                  : NA_INVALID_ARG;
    }
    for (size_t i = 0; i < segment_count; i++)
        if (!segments[i].base || segments[i].len == 0)
            return NA_INVALID_ARG;
    handle =
        malloc(sizeof *handle + segment_count * sizeof handle->segments[0]);
    if (!handle)
        return NA_NOMEM;
    handle->mem = NULL;
    handle->remote = false;
    handle->access = (uint32_t) flags;
    handle->count = segment_count;
    for (size_t i = 0; i < segment_count; i++)
        handle->segments[i] = (na_plugin_segment){
            .base = segments[i].base, .length = segments[i].len};
    *mem_handle_p = handle;
    return NA_SUCCESS;
}

void
NA_Mem_handle_free(na_class_t *na_class, na_mem_handle_t *mem_handle)
{
    if (!na_class || !mem_handle)
        return;
    if (mem_handle->mem && mem_handle->remote)
        na_mem_remote_free(na_class, mem_handle->mem);
    else if (mem_handle->mem)
        na_mem_deregister(na_class, mem_handle->mem);
    free(mem_handle);
}

size_t
NA_Mem_handle_get_max_segments(const na_class_t *na_class)
{
    return na_class ? na_class->opened.max_segments : 0;
}

static na_return_t
alloc_from_plugin(struct na_class *na_class, size_t size, void **memory_p)
{
    void *memory = NULL;
    na_return_t ret = na_result(na_class, "alloc of " NA_PLUGIN_MEM_ALLOC_ID,
        na_class->mem_alloc->alloc(na_class->plugin_class, size, &memory));

    if (ret != NA_SUCCESS)
        return ret;
    if (!memory) {
        na_violation(na_class,
            "alloc of " NA_PLUGIN_MEM_ALLOC_ID " returned OK and NULL");
        return NA_PROTOCOL_ERROR;
    }
    *memory_p = memory;
    return NA_SUCCESS;
}

na_return_t
talaria_mem_alloc(na_class_t *na_class, size_t size, void **memory_p)
{
    size_t rounded = (size + ALLOC_ALIGN - 1) & ~(ALLOC_ALIGN - 1);
    void *memory;

    if (!na_class || !memory_p || size == 0 || size > PTRDIFF_MAX)
        return NA_INVALID_ARG;
    if (na_class->mem_alloc)
        return alloc_from_plugin(na_class, size, memory_p);
    memory = aligned_alloc(ALLOC_ALIGN, rounded);
    if (!memory)
        return NA_NOMEM;
    memset(memory, 0, rounded);
    *memory_p = memory;
    return NA_SUCCESS;
}

void
talaria_mem_free(na_class_t *na_class, void *memory)
{
    if (!na_class || !memory)
        return;
    if (na_class->mem_alloc)
        na_class->mem_alloc->free(na_class->plugin_class, memory);
    else
        free(memory);
}

na_return_t
NA_Mem_register(na_class_t *na_class, na_mem_handle_t *mem_handle,
    enum na_mem_type mem_type, uint64_t device)
{
    if (!na_class || !mem_handle || mem_handle->remote || (int) mem_type < 0 ||
        mem_type >= NA_MEM_TYPE_MAX)
        return NA_INVALID_ARG;
    if (mem_handle->mem)
        return NA_BUSY;
    return na_mem_segments(na_class, mem_handle->segments, mem_handle->count,
        mem_handle->access, (uint32_t) mem_type, device, &mem_handle->mem);
}

na_return_t
NA_Mem_deregister(na_class_t *na_class, na_mem_handle_t *mem_handle)
{
    if (!na_class || !mem_handle || mem_handle->remote)
        return NA_INVALID_ARG;
    if (mem_handle->mem)
        na_mem_deregister(na_class, mem_handle->mem);
    mem_handle->mem = NULL;
    return NA_SUCCESS;
}

size_t
NA_Mem_handle_get_serialize_size(
    na_class_t *na_class, na_mem_handle_t *mem_handle)
{
    uint64_t size = 0;

    if (!na_class || !mem_handle || !mem_handle->mem ||
        na_mem_serialize(na_class, mem_handle->mem, NULL, &size) != NA_SUCCESS)
        return 0;
    return size;
}

na_return_t
NA_Mem_handle_serialize(na_class_t *na_class, void *buf, size_t buf_size,
    na_mem_handle_t *mem_handle)
{
    uint64_t size = buf_size;

    if (!na_class || !buf || !mem_handle || !mem_handle->mem)
        return NA_INVALID_ARG;
    return na_mem_serialize(na_class, mem_handle->mem, buf, &size);
}

na_return_t
NA_Mem_handle_deserialize(na_class_t *na_class, na_mem_handle_t **mem_handle_p,
    const void *buf, size_t buf_size)
{
    struct na_mem_handle *handle;
    na_return_t ret;

    if (!na_class || !mem_handle_p || !buf)
        return NA_INVALID_ARG;
    handle = calloc(1, sizeof *handle);
    if (!handle)
        return NA_NOMEM;
    handle->remote = true;
    ret = na_mem_deserialize(na_class, buf, buf_size, &handle->mem);
    if (ret != NA_SUCCESS) {
        free(handle);
        return ret;
    }
    *mem_handle_p = handle;
    return NA_SUCCESS;
}
