/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations: segments in a row, found by a number that their bytes carry, so
 * that what a peer asks for is checked here. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "key.h"
#include "mem.h"

#define SERIAL_VERSION 1U
#define ACCESS_ALL (NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE)

/* The bytes of a registration; segments, then keys follow. */
struct serial {
    uint8_t version;
    uint8_t access;
    uint16_t zero;
    uint32_t count;
    uint64_t owner;
    uint64_t number;
    uint32_t keys_length;
    uint32_t zero_too;
};

struct serial_segment {
    uint64_t base;
    uint64_t length;
};

int32_t
ucx_mem_init(na_plugin_class *cls)
{
    return ucx_table_init(&cls->mems);
}

static void
release(na_plugin_class *cls, na_plugin_mem *mem)
{
    if (mem->own)
        ucx_key_unmap(cls, mem);
    free(mem->keys);
    free(mem);
}

uint32_t
ucx_mem_fini(na_plugin_class *cls)
{
    struct ucx_list list = {NULL, NULL};
    struct ucx_link *link;
    uint32_t left = 0;

    if (cls->mems.buckets == NULL)
        return 0;
    ucx_table_take_all(&cls->mems, NULL, &list);
    for (; (link = ucx_list_pop(&list)) != NULL; left++)
        release(cls, (na_plugin_mem *) link);
    ucx_table_fini(&cls->mems);
    return left;
}

const na_plugin_mem *
ucx_mem_find(const na_plugin_class *cls, uint64_t serial)
{
    return (const na_plugin_mem *) ucx_table_find(&cls->mems, NULL, serial);
}

uint32_t
ucx_mem_locate(const na_plugin_mem *mem, uint64_t *offset_p)
{
    uint32_t i = 0;

    while (i + 1 < mem->count && *offset_p >= mem->segments[i].length)
        *offset_p -= mem->segments[i++].length;
    return i;
}

/* Goes through the pieces of a range: from the buffer into them, or back. */
static void
walk(const na_plugin_mem *mem, uint64_t offset, unsigned char *to,
    const unsigned char *from, uint64_t length)
{
    for (uint32_t i = ucx_mem_locate(mem, &offset); length > 0; i++) {
        unsigned char *place = (unsigned char *) mem->segments[i].base + offset;
        uint64_t piece = mem->segments[i].length - offset;
        if (piece > length)
            piece = length;
        if (to != NULL) {
            memcpy(to, place, piece);
            to += piece;
        } else {
            memcpy(place, from, piece);
            from += piece;
        }
        length -= piece;
        offset = 0;
    }
}

void
ucx_mem_read(
    const na_plugin_mem *mem, uint64_t offset, void *buffer, uint64_t length)
{
    walk(mem, offset, buffer, NULL, length);
}

void
ucx_mem_write(const na_plugin_mem *mem, uint64_t offset, const void *buffer,
    uint64_t length)
{
    walk(mem, offset, NULL, buffer, length);
}

/* A registration of count segments with room for them. */
static na_plugin_mem *
make(uint32_t count)
{
    na_plugin_mem *mem =
        calloc(1, sizeof(*mem) + count * sizeof(mem->segments[0]));
    if (mem != NULL)
        mem->count = count;
    return mem;
}

/* A number for a new registration. It is what a peer reaches the memory by, so
 * that knowing one number must not help to find another. */
static bool
draw_serial(na_plugin_class *cls, uint64_t *serial_p)
{
    do {
        if (!ucx_random_draw(&cls->random, serial_p))
            return false;
    } while (ucx_mem_find(cls, *serial_p) != NULL);
    return true;
}

/* Adds the lengths up; false if a segment is empty or they go round. */
static bool
add_up(na_plugin_mem *mem)
{
    for (uint32_t i = 0; i < mem->count; i++) {
        uintptr_t base = (uintptr_t) mem->segments[i].base;
        uint64_t length = mem->segments[i].length;
        if (length == 0 || base == 0 || length > UINTPTR_MAX - base ||
            length > UINT64_MAX - mem->total)
            return false;
        mem->total += length;
    }
    return true;
}

int32_t
ucx_mem_register(
    na_plugin_class *cls, const na_plugin_mem_info *info, na_plugin_mem **mem_p)
{
    if (info->size < NA_PLUGIN_MEM_INFO_SIZE_1_0 ||
        (info->flags & NA_PLUGIN_FLAGS_DEMANDS) != 0)
        return NA_PLUGIN_E_INVALID_ARG;
    if (info->mem_type != NA_PLUGIN_MEM_HOST) {
        UCX_LOG(cls->host, ERROR,
            "memory of type %" PRIu32 " cannot be registered", info->mem_type);
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    }
    if (info->segments == NULL || info->count == 0 ||
        info->count > UCX_SEGMENTS || info->access == 0 ||
        (info->access & ~ACCESS_ALL) != 0) {
        UCX_LOG(cls->host, ERROR,
            "%" PRIu64 " segments with access 0x%" PRIx32
            "; 1 to %u with READ, WRITE or both can be registered",
            info->count, info->access, UCX_SEGMENTS);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    na_plugin_mem *mem = make((uint32_t) info->count);
    if (mem == NULL)
        return NA_PLUGIN_E_NOMEM;
    memcpy(
        mem->segments, info->segments, info->count * sizeof(*info->segments));
    if (!add_up(mem)) {
        UCX_LOG(cls->host, ERROR,
            "a segment is empty, or goes beyond the address space");
        free(mem);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    mem->owner = cls->number;
    mem->access = info->access;
    mem->own = true;
    ucx_lock_take(&cls->lock);
    if (!draw_serial(cls, &mem->serial)) {
        ucx_lock_drop(&cls->lock);
        UCX_LOG(cls->host, ERROR, "no random number for a registration");
        free(mem);
        return NA_PLUGIN_E_IO_ERROR;
    }
    ucx_key_map(cls, mem);
    mem->link.key = mem->serial;
    ucx_table_insert(&cls->mems, &mem->link);
    ucx_lock_drop(&cls->lock);
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

void
ucx_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem)
{
    ucx_lock_take(&cls->lock);
    ucx_table_remove(&cls->mems, &mem->link);
    release(cls, mem);
    ucx_lock_drop(&cls->lock);
}

int32_t
ucx_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem, void *buffer,
    uint64_t *size_p)
{
    uint64_t need = sizeof(struct serial) +
                    mem->count * sizeof(struct serial_segment) +
                    mem->keys_length;
    int32_t ret = ucx_settle_size(buffer, size_p, need);
    if (ret != NA_PLUGIN_OK || buffer == NULL)
        return ret;

    unsigned char *bytes = buffer;
    struct serial serial = {.version = SERIAL_VERSION,
        .access = (uint8_t) mem->access,
        .count = mem->count,
        .owner = mem->owner,
        .number = mem->serial,
        .keys_length = mem->keys_length};
    memcpy(bytes, &serial, sizeof(serial));
    bytes += sizeof(serial);
    for (uint32_t i = 0; i < mem->count; i++) {
        struct serial_segment segment = {
            .base = (uint64_t) (uintptr_t) mem->segments[i].base,
            .length = mem->segments[i].length};
        memcpy(bytes, &segment, sizeof(segment));
        bytes += sizeof(segment);
    }
    if (mem->keys_length != 0)
        memcpy(bytes, mem->keys, mem->keys_length);
    return NA_PLUGIN_OK;
}

/* The segments and keys of a registration whose front has been checked. */
static na_plugin_mem *
read_serial(const struct serial *serial, const unsigned char *bytes)
{
    na_plugin_mem *mem = make(serial->count);
    if (mem == NULL)
        return NULL;
    mem->owner = serial->owner;
    mem->serial = serial->number;
    mem->access = serial->access;
    for (uint32_t i = 0; i < mem->count; i++) {
        struct serial_segment segment;
        memcpy(&segment, bytes, sizeof(segment));
        bytes += sizeof(segment);
        mem->segments[i] =
            (na_plugin_segment){.base = (void *) (uintptr_t) segment.base,
                .length = segment.length};
    }
    if (serial->keys_length == 0)
        return mem;
    mem->keys_length = serial->keys_length;
    mem->keys = malloc(serial->keys_length);
    if (mem->keys == NULL) {
        free(mem);
        return NULL;
    }
    memcpy(mem->keys, bytes, serial->keys_length);
    return mem;
}

int32_t
ucx_mem_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_mem **mem_p)
{
    struct serial serial;

    if (length >= 1 && *(const uint8_t *) buffer != SERIAL_VERSION) {
        UCX_LOG(cls->host, WARNING,
            "serialized registration of version %u; known is %u",
            *(const uint8_t *) buffer, SERIAL_VERSION);
        return NA_PLUGIN_E_PROTOCOL_ERROR;
    }
    bool sound = length >= sizeof(serial);
    if (sound) {
        memcpy(&serial, buffer, sizeof(serial));
        uint64_t segments =
            (uint64_t) serial.count * sizeof(struct serial_segment);
        sound = serial.count != 0 && serial.count <= UCX_SEGMENTS &&
                serial.access != 0 && (serial.access & ~ACCESS_ALL) == 0 &&
                serial.zero == 0 && serial.zero_too == 0 &&
                segments <= length - sizeof(serial) &&
                serial.keys_length <= length - sizeof(serial) - segments;
    }
    if (!sound) {
        UCX_LOG(cls->host, WARNING,
            "%" PRIu64 " bytes are no serialized registration", length);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    na_plugin_mem *mem =
        read_serial(&serial, (const unsigned char *) buffer + sizeof(serial));
    if (mem == NULL)
        return NA_PLUGIN_E_NOMEM;
    if (!add_up(mem) || !ucx_key_sound(mem)) {
        UCX_LOG(cls->host, WARNING,
            "a serialized registration has a segment that cannot be");
        free(mem->keys);
        free(mem);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

void
ucx_mem_free(na_plugin_class *cls, na_plugin_mem *mem)
{
    ucx_lock_take(&cls->lock);
    ucx_key_forget_mem(mem);
    ucx_lock_drop(&cls->lock);
    free(mem->keys);
    free(mem);
}
