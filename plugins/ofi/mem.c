/* SPDX-License-Identifier: BSD-3-Clause */
/* One registration of libfabric's for each segment; its bytes for peers. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fabric.h"
#include "fence.h"
#include "mem.h"
#include "memory.h"
#include "ofi.h"
#include "quirk.h"

/*
 * Serialized, little-endian: version 1, access (1 byte each), number of segments
 * (2), whether there is a fence (1), 0 (3), number of the class (8), of the
 * registration (8), then address, length, key (8 each) for each segment and for
 * the fence.
 */
#define BYTES_VERSION 1U
#define BYTES_HEAD 24U
#define BYTES_SEGMENT 24U
#define ACCESS_ALL (NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE)

static int
iface_of(uint32_t mem_type)
{
    static const enum fi_hmem_iface ifaces[] = {
        [NA_PLUGIN_MEM_HOST] = FI_HMEM_SYSTEM,
        [NA_PLUGIN_MEM_CUDA] = FI_HMEM_CUDA,
        [NA_PLUGIN_MEM_ROCM] = FI_HMEM_ROCR,
        [NA_PLUGIN_MEM_ZE] = FI_HMEM_ZE,
    };
    return ifaces[mem_type];
}

static void
close_segments(na_plugin_class *cls, na_plugin_mem *mem)
{
    if (cls->conduct.serial_mr)
        tp_lock_take(&cls->first->lock);
    for (uint32_t i = 0; i < mem->count; i++)
        if (mem->segments[i].mr != NULL)
            fi_close(&mem->segments[i].mr->fid);
    if (cls->conduct.serial_mr)
        tp_lock_drop(&cls->first->lock);
}

/* Registers one piece. What libfabric returns. */
static int
open_segment(na_plugin_class *cls, struct ofi_segment *segment, uint32_t access,
    uint32_t mem_type, uint64_t device)
{
    const struct iovec iov = {.iov_base = (void *) (uintptr_t) segment->base,
        .iov_len = segment->length};
    struct fi_mr_attr attr = {
        .mr_iov = &iov, .iov_count = 1, .iface = iface_of(mem_type)};

    if (access & NA_PLUGIN_MEM_READ)
        attr.access |= FI_REMOTE_READ | FI_WRITE;
    if (access & NA_PLUGIN_MEM_WRITE)
        attr.access |= FI_REMOTE_WRITE | FI_READ;
    if (mem_type == NA_PLUGIN_MEM_CUDA)
        attr.device.cuda = (int) device;
    else if (mem_type == NA_PLUGIN_MEM_ZE)
        attr.device.ze = (int) device;

    int ret = ofi_fabric_register_attr(cls->first, &attr, &segment->mr);
    if (ret != 0)
        return ret;
    segment->key = fi_mr_key(segment->mr);
    segment->address = cls->first->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR
                           ? segment->base
                           : 0;
    return segment->key == FI_KEY_NOTAVAIL ? -FI_ENOKEY : 0;
}

static int
open_segments(na_plugin_class *cls, na_plugin_mem *mem, uint32_t mem_type,
    uint64_t device)
{
    int ret = 0;

    if (cls->conduct.serial_mr)
        tp_lock_take(&cls->first->lock);
    for (uint32_t i = 0; i < mem->count && ret == 0; i++)
        ret =
            open_segment(cls, &mem->segments[i], mem->access, mem_type, device);
    if (cls->conduct.serial_mr)
        tp_lock_drop(&cls->first->lock);
    return ret;
}

static int32_t
check(const na_plugin_class *cls, const na_plugin_mem_info *info)
{
    const na_plugin_segment *segments = info->segments;
    uint64_t length = 0;

    if (info->size < NA_PLUGIN_MEM_INFO_SIZE_1_0 ||
        (info->flags & NA_PLUGIN_FLAGS_DEMANDS) != 0 || info->count == 0 ||
        info->count > OFI_SEGMENTS || (info->access & ~ACCESS_ALL) != 0 ||
        info->access == 0 || info->mem_type > NA_PLUGIN_MEM_ZE)
        return NA_PLUGIN_E_INVALID_ARG;
    if (info->mem_type != NA_PLUGIN_MEM_HOST &&
        !(cls->first->info->caps & FI_HMEM)) {
        TP_LOG(cls->host, INFO,
            "provider %s does not register device memory here",
            cls->trait->provider);
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    }
    for (uint64_t i = 0; i < info->count; i++)
        if (segments[i].base == NULL || segments[i].length == 0 ||
            segments[i].length > UINT64_MAX - length ||
            (uintptr_t) segments[i].base > UINTPTR_MAX - segments[i].length)
            return NA_PLUGIN_E_INVALID_ARG;
        else
            length += segments[i].length;
    return NA_PLUGIN_OK;
}

static na_plugin_mem *
mem_new(uint64_t count)
{
    na_plugin_mem *mem =
        calloc(1, sizeof(*mem) + count * sizeof(struct ofi_segment));
    if (mem != NULL)
        mem->count = (uint32_t) count;
    return mem;
}

int32_t
ofi_mem_register(
    na_plugin_class *cls, const na_plugin_mem_info *info, na_plugin_mem **mem_p)
{
    int32_t ret = check(cls, info);
    if (ret != NA_PLUGIN_OK)
        return ret;
    na_plugin_mem *mem = mem_new(info->count);
    if (mem == NULL)
        return NA_PLUGIN_E_NOMEM;

    mem->registered = true;
    mem->access = info->access;
    mem->owner = cls->number;
    mem->fence = ofi_fence_offer(cls->first);
    for (uint64_t i = 0; i < info->count; i++) {
        mem->segments[i].base = (uintptr_t) info->segments[i].base;
        mem->segments[i].length = info->segments[i].length;
        mem->length += info->segments[i].length;
    }
    int error = open_segments(cls, mem, info->mem_type, info->device);
    if (error != 0) {
        TP_LOG(cls->host, ERROR,
            "memory of %llu bytes in %u segments can't be registered: %s",
            (unsigned long long) mem->length, mem->count,
            ofi_library.strerror(-error));
        close_segments(cls, mem);
        free(mem);
        return ofi_error_code(-error);
    }
    tp_lock_take(&cls->memory_lock);
    mem->id = ++cls->memory_id;
    OFI_QUIRKS_CALL(cls->first, memory_added, cls->first, mem);
    tp_list_append(&cls->memory, &mem->link);
    tp_lock_drop(&cls->memory_lock);
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

void
ofi_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem)
{
    tp_lock_take(&cls->memory_lock);
    tp_list_remove(&cls->memory, &mem->link);
    OFI_QUIRKS_CALL(cls->first, memory_removed, cls->first, mem);
    tp_lock_drop(&cls->memory_lock);
    OFI_QUIRKS_CALL(cls->first, memory_settle, cls->first);
    close_segments(cls, mem);
    free(mem);
}

uint32_t
ofi_mem_fini(na_plugin_class *cls)
{
    uint32_t left = 0;

    for (; cls->memory.head != NULL; left++)
        ofi_mem_deregister(
            cls, TP_OBJECT(cls->memory.head, na_plugin_mem, link));
    return left;
}

static void
put64(uint8_t *bytes, uint64_t value)
{
    value = htole64(value);
    memcpy(bytes, &value, sizeof(value));
}

static uint64_t
get64(const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof(value));
    return le64toh(value);
}

static void
write_segment(uint8_t *bytes, const struct ofi_segment *segment)
{
    put64(bytes, segment->address);
    put64(bytes + 8, segment->length);
    put64(bytes + 16, segment->key);
}

/* False: it can't be. */
static bool
read_segment(const uint8_t *bytes, struct ofi_segment *segment)
{
    segment->address = get64(bytes);
    segment->length = get64(bytes + 8);
    segment->key = get64(bytes + 16);
    return segment->length != 0 &&
           segment->length <= UINT64_MAX - segment->address;
}

int32_t
ofi_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem, void *buffer,
    uint64_t *size_p)
{
    uint64_t room = *size_p;
    uint8_t *bytes = buffer;

    bool fence = mem->fence.length != 0;
    *size_p = BYTES_HEAD + ((uint64_t) mem->count + fence) * BYTES_SEGMENT;
    if (buffer == NULL)
        return NA_PLUGIN_OK;
    if (room < *size_p)
        return NA_PLUGIN_E_OVERFLOW;
    memset(bytes, 0, BYTES_HEAD);
    bytes[0] = BYTES_VERSION;
    bytes[1] = (uint8_t) mem->access;
    bytes[2] = (uint8_t) mem->count;
    bytes[3] = (uint8_t) (mem->count >> 8);
    bytes[4] = fence;
    put64(bytes + 8, mem->owner);
    put64(bytes + 16, mem->id);
    bytes += BYTES_HEAD;
    for (uint32_t i = 0; i < mem->count; i++, bytes += BYTES_SEGMENT)
        write_segment(bytes, &mem->segments[i]);
    if (fence)
        write_segment(bytes, &mem->fence);
    return NA_PLUGIN_OK;
}

static int32_t
refuse(na_plugin_class *cls, int32_t code, const char *why)
{
    TP_LOG(cls->host, DEBUG, "the bytes of a registration %s", why);
    return code;
}

int32_t
ofi_mem_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_mem **mem_p)
{
    const uint8_t *bytes = buffer;

    if (length < BYTES_HEAD)
        return refuse(cls, NA_PLUGIN_E_OVERFLOW, "are cut short");
    uint64_t count = bytes[2] | (uint64_t) bytes[3] << 8;
    if (bytes[0] != BYTES_VERSION || bytes[1] == 0 ||
        (bytes[1] & ~ACCESS_ALL) != 0 || count == 0 || count > OFI_SEGMENTS ||
        bytes[4] > 1 || (bytes[5] | bytes[6] | bytes[7]) != 0)
        return refuse(
            cls, NA_PLUGIN_E_PROTOCOL_ERROR, "are not of this version's");
    bool fence = bytes[4] != 0;
    if (length < BYTES_HEAD + (count + fence) * BYTES_SEGMENT)
        return refuse(cls, NA_PLUGIN_E_OVERFLOW, "are cut short");
    na_plugin_mem *mem = mem_new(count);
    if (mem == NULL)
        return NA_PLUGIN_E_NOMEM;

    mem->access = bytes[1];
    mem->owner = get64(bytes + 8);
    mem->id = get64(bytes + 16);
    bytes += BYTES_HEAD;
    bool can_be = true;
    for (uint64_t i = 0; i < count && can_be; i++, bytes += BYTES_SEGMENT) {
        struct ofi_segment *segment = &mem->segments[i];
        can_be = read_segment(bytes, segment) &&
                 segment->length <= UINT64_MAX - mem->length;
        mem->length += segment->length;
    }
    if (can_be && fence)
        can_be = read_segment(bytes, &mem->fence);
    if (!can_be) {
        free(mem);
        return refuse(cls, NA_PLUGIN_E_PROTOCOL_ERROR,
            "describe a segment that can't be");
    }
    OFI_QUIRKS_CALL(cls->first, memory_described, cls->first, mem);
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

void
ofi_mem_free(na_plugin_class *cls, na_plugin_mem *mem)
{
    free(mem);
}

/* Fills in where it lies here. */
bool
ofi_mem_is_own(na_plugin_class *cls, const na_plugin_mem *described)
{
    for (struct tp_link *link = cls->memory.head; link != NULL;
         link = link->next) {
        const na_plugin_mem *mem = TP_OBJECT(link, na_plugin_mem, link);
        if (mem->id != described->id)
            continue;
        if (mem->count != described->count || mem->owner != described->owner ||
            (described->access & ~mem->access) != 0)
            return false;
        for (uint32_t i = 0; i < mem->count; i++)
            if (mem->segments[i].length != described->segments[i].length ||
                mem->segments[i].key != described->segments[i].key)
                return false;
        return true;
    }
    return false;
}

const struct ofi_segment *
ofi_mem_find(const na_plugin_mem *mem, uint64_t offset, uint64_t *within_p)
{
    const struct ofi_segment *segment = mem->segments;

    while (offset >= segment->length) {
        offset -= segment->length;
        segment++;
    }
    *within_p = offset;
    return segment;
}
