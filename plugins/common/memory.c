/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments in a row, and registrations as bytes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/address.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/report.h"

#define FRONT 24U
#define SEGMENT 16U
#define ACCESS_ALL (NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE)

static _Atomic uint64_t refused; /* bytes of peers, for their log lines */

uint64_t
tp_segments_total(const na_plugin_segment *segments, uint64_t count)
{
    uint64_t total = 0;

    for (uint64_t i = 0; i < count; i++) {
        uintptr_t base = (uintptr_t) segments[i].base;
        uint64_t length = segments[i].length;
        if (base == 0 || length == 0 || length > UINTPTR_MAX - base ||
            length > INT64_MAX - total)
            return 0;
        total += length;
    }
    return total;
}

int32_t
tp_mem_check(const na_plugin_host *host, const na_plugin_mem_info *info,
    uint64_t most, bool devices, struct tp_mem *mem)
{
    uint64_t total = 0;

    if (info->size < NA_PLUGIN_MEM_INFO_SIZE_1_0 ||
        (info->flags & NA_PLUGIN_FLAGS_DEMANDS) != 0)
        return NA_PLUGIN_E_INVALID_ARG;
    if (info->mem_type > (devices ? NA_PLUGIN_MEM_ZE : NA_PLUGIN_MEM_HOST)) {
        TP_LOG(host, ERROR, "memory of type %" PRIu32 " can't be registered",
            info->mem_type);
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    }
    if (info->segments != NULL && info->count >= 1 && info->count <= most)
        total = tp_segments_total(info->segments, info->count);
    if (total == 0 || info->access == 0 || (info->access & ~ACCESS_ALL) != 0) {
        TP_LOG(host, ERROR,
            "%" PRIu64 " segments, access 0x%" PRIx32 ": not 1 to %" PRIu64
            ", or one is empty, or access unknown",
            info->count, info->access, most);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    mem->total = total;
    mem->access = info->access;
    mem->count = (uint32_t) info->count;
    return NA_PLUGIN_OK;
}

/* Zeroed memory for a registration with this struct tp_mem; NULL: there is none. */
static void *
allocate(const struct tp_mem *mem, size_t front, size_t each)
{
    void *made =
        calloc(1, front + mem->count * (sizeof(na_plugin_segment) + each));

    if (made != NULL)
        memcpy(made, mem, sizeof(*mem));
    return made;
}

int32_t
tp_mem_make(const na_plugin_host *host, const na_plugin_mem_info *info,
    uint64_t most, bool devices, size_t front, size_t each, void **made_p)
{
    struct tp_mem mem = {.total = 0};

    int32_t ret = tp_mem_check(host, info, most, devices, &mem);
    if (ret != NA_PLUGIN_OK)
        return ret;
    void *made = allocate(&mem, front, each);
    if (made == NULL)
        return NA_PLUGIN_E_NOMEM;
    memcpy((char *) made + front, info->segments,
        mem.count * sizeof(*info->segments));
    *made_p = made;
    return NA_PLUGIN_OK;
}

int32_t
tp_mem_check_range(const na_plugin_host *host, const struct tp_mem *mem,
    uint64_t offset, uint64_t length, uint32_t right, const char *which)
{
    int32_t ret = tp_mem_permits(mem, offset, length, right);

    if (ret == NA_PLUGIN_E_INVALID_ARG)
        TP_LOG(host, ERROR,
            "%" PRIu64 " bytes at %" PRIu64
            " of the %s registration, which has %" PRIu64,
            length, offset, which, mem->total);
    else if (ret != NA_PLUGIN_OK)
        TP_LOG(host, ERROR, "the %s registration does not permit it to be %s",
            which, right == NA_PLUGIN_MEM_READ ? "read" : "written");
    return ret;
}

static const na_plugin_segment *
locate(const na_plugin_segment *segment, uint64_t *offset_p)
{
    while (*offset_p >= segment->length)
        *offset_p -= segment++->length;
    return segment;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool
tp_walk_next(struct tp_walk *walk, struct tp_part *part)
{
    if (walk->left == 0)
        return false;
    walk->near = locate(walk->near, &walk->near_offset);
    walk->far = locate(walk->far, &walk->far_offset);
    part->here = (char *) walk->near->base + walk->near_offset;
    part->there = (uintptr_t) walk->far->base + walk->far_offset;
    part->far = walk->far;
    part->length =
        least(walk->left, least(walk->near->length - walk->near_offset,
                              walk->far->length - walk->far_offset));
    walk->left -= part->length;
    walk->near_offset += part->length;
    walk->far_offset += part->length;
    return true;
}

/* The next part of a range, and its bytes; the range moves on. */
static void *
next_part(const na_plugin_segment **segment_p, uint64_t *offset_p,
    uint64_t left, uint64_t *length_p)
{
    const na_plugin_segment *segment = locate(*segment_p, offset_p);
    char *part = (char *) segment->base + *offset_p;

    *length_p = least(left, segment->length - *offset_p);
    *offset_p += *length_p;
    *segment_p = segment;
    return part;
}

void
tp_segments_read(const na_plugin_segment *segments, uint64_t offset,
    void *buffer, uint64_t length)
{
    unsigned char *to = buffer;
    uint64_t part;

    for (; length > 0; length -= part, to += part) {
        const void *from = next_part(&segments, &offset, length, &part);
        memcpy(to, from, part);
    }
}

void
tp_segments_write(const na_plugin_segment *segments, uint64_t offset,
    const void *buffer, uint64_t length)
{
    const unsigned char *from = buffer;
    uint64_t part;

    for (; length > 0; length -= part, from += part) {
        void *to = next_part(&segments, &offset, length, &part);
        memcpy(to, from, part);
    }
}

unsigned char *
tp_pack(unsigned char *bytes, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        bytes[i] = (unsigned char) (value >> 8 * i);
    return bytes + width;
}

uint64_t
tp_unpack(const unsigned char *bytes, unsigned width)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < width; i++)
        value |= (uint64_t) bytes[i] << 8 * i;
    return value;
}

int32_t
tp_mem_serialize(uint8_t version, const struct tp_mem *mem,
    const na_plugin_segment *segments, const void *extra, uint32_t extra_length,
    void *buffer, uint64_t *size_p)
{
    unsigned char *bytes = buffer;

    int32_t ret = tp_size_out(
        buffer, size_p, FRONT + (uint64_t) mem->count * SEGMENT + extra_length);
    if (ret != NA_PLUGIN_OK || buffer == NULL)
        return ret;
    bytes = tp_pack(bytes, version, 1);
    bytes = tp_pack(bytes, mem->access, 1);
    bytes = tp_pack(bytes, mem->count, 2);
    bytes = tp_pack(bytes, extra_length, 4);
    bytes = tp_pack(bytes, mem->owner, 8);
    bytes = tp_pack(bytes, mem->keyed.key, 8);
    for (uint32_t i = 0; i < mem->count; i++) {
        bytes = tp_pack(bytes, (uintptr_t) segments[i].base, 8);
        bytes = tp_pack(bytes, segments[i].length, 8);
    }
    if (extra_length != 0)
        memcpy(bytes, extra, extra_length);
    return NA_PLUGIN_OK;
}

int32_t
tp_mem_deserialize_front(const na_plugin_host *host, uint8_t version,
    const void *buffer, uint64_t length, uint64_t most, struct tp_mem *mem,
    const unsigned char **extra_p, uint32_t *extra_length_p)
{
    const unsigned char *bytes = buffer;

    if (length >= 1 && bytes[0] != version) {
        TP_LOG_THINNED(host, WARNING, tp_count_shared(&refused, 1),
            "serialized registration of version %u; known is %u", bytes[0],
            version);
        return NA_PLUGIN_E_PROTOCOL_ERROR;
    }
    uint32_t access = length >= FRONT ? bytes[1] : 0;
    uint64_t count = access != 0 ? tp_unpack(bytes + 2, 2) : 0;
    uint64_t end = FRONT + count * SEGMENT;
    if (count == 0 || count > most || (access & ~ACCESS_ALL) != 0 ||
        length < end || length - end < tp_unpack(bytes + 4, 4)) {
        TP_LOG_THINNED(host, WARNING, tp_count_shared(&refused, 1),
            "malformed serialized registration of %" PRIu64 " bytes", length);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    mem->access = access;
    mem->count = (uint32_t) count;
    mem->owner = tp_unpack(bytes + 8, 8);
    mem->keyed.key = tp_unpack(bytes + 16, 8);
    *extra_length_p = (uint32_t) tp_unpack(bytes + 4, 4);
    *extra_p = bytes + end;
    return NA_PLUGIN_OK;
}

int32_t
tp_mem_deserialize_segments(const na_plugin_host *host, const void *buffer,
    struct tp_mem *mem, na_plugin_segment *segments)
{
    const unsigned char *bytes = (const unsigned char *) buffer + FRONT;

    for (uint32_t i = 0; i < mem->count; i++, bytes += SEGMENT)
        segments[i] = (na_plugin_segment){
            .base = (void *) (uintptr_t) tp_unpack(bytes, 8),
            .length = tp_unpack(bytes + 8, 8)};
    mem->total = tp_segments_total(segments, mem->count);
    if (mem->total != 0)
        return NA_PLUGIN_OK;
    TP_LOG_THINNED(host, WARNING, tp_count_shared(&refused, 1),
        "malformed segment in a serialized registration");
    return NA_PLUGIN_E_INVALID_ARG;
}

int32_t
tp_mem_read(const na_plugin_host *host, uint8_t version, const void *buffer,
    uint64_t length, uint64_t most, size_t front, size_t each, void **made_p,
    const unsigned char **extra_p, uint32_t *extra_length_p)
{
    struct tp_mem mem = {.total = 0};

    int32_t ret = tp_mem_deserialize_front(
        host, version, buffer, length, most, &mem, extra_p, extra_length_p);
    if (ret != NA_PLUGIN_OK)
        return ret;
    void *made = allocate(&mem, front, each);
    if (made == NULL)
        return NA_PLUGIN_E_NOMEM;
    ret = tp_mem_deserialize_segments(
        host, buffer, made, (na_plugin_segment *) ((char *) made + front));
    if (ret != NA_PLUGIN_OK)
        free(made);
    else
        *made_p = made;
    return ret;
}
