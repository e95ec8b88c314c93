/* SPDX-License-Identifier: BSD-3-Clause */
/* Registering memory costs no system call of its own: a registration is its
 * segments, a random key, and the number of its class. Who does not know the key
 * reaches nothing. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "memfd.h"
#include "shared.h"

#define TABLE_BITS 6
#define SMALL 4U    /* segments that a recycled object has room for */
#define SPARES 256U /* objects kept for the next registration */
#define SERIAL_VERSION 2
#define SERIAL_HEADER 24U
#define SERIAL_AREA 24U /* if there is one */
#define SERIAL_SEGMENT 16U
#define FLAG_AREA 1U
#define ACCESS (NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE)

int32_t
sm_mem_init(na_plugin_class *cls)
{
    tp_lock_init(&cls->memory, cls->single);
    cls->mems_bits = TABLE_BITS;
    cls->mems = calloc((size_t) 1 << TABLE_BITS, sizeof(na_plugin_mem *));
    if (cls->mems == NULL)
        return NA_PLUGIN_E_NOMEM;

    int error = sm_registry_init(&cls->registry);
    if (error != 0)
        TP_LOG(cls->host, INFO,
            "no registry (%s): this class's memory is copied by itself, "
            "through the rings",
            sm_memfd_error(error));
    return NA_PLUGIN_OK;
}

static void
free_chain(na_plugin_mem *mem)
{
    while (mem != NULL) {
        na_plugin_mem *next = mem->next;
        free(mem);
        mem = next;
    }
}

uint32_t
sm_mem_fini(na_plugin_class *cls)
{
    uint32_t left = cls->mems_count;

    for (size_t i = 0; cls->mems != NULL && i >> cls->mems_bits == 0; i++)
        free_chain(cls->mems[i]);
    free_chain(cls->mem_spare);
    free(cls->mems);
    cls->mems = NULL;
    cls->mem_spare = NULL;
    sm_registry_fini(&cls->registry);
    return left;
}

/* An object with room for count segments. */
static na_plugin_mem *
obtain(na_plugin_class *cls, uint32_t count)
{
    na_plugin_mem *mem = NULL;

    if (count <= SMALL) {
        tp_lock_take(&cls->memory);
        mem = cls->mem_spare;
        if (mem != NULL) {
            cls->mem_spare = mem->next;
            cls->mem_spares--;
        }
        tp_lock_drop(&cls->memory);
    }
    if (mem != NULL)
        return mem;

    uint32_t room = count > SMALL ? count : SMALL;
    mem = malloc(sizeof(*mem) + room * sizeof(mem->segments[0]));
    if (mem != NULL)
        mem->room = room;
    return mem;
}

void
sm_mem_free(na_plugin_class *cls, na_plugin_mem *mem)
{
    tp_lock_take(&cls->memory);
    bool keep = mem->room == SMALL && cls->mem_spares < SPARES;
    if (keep) {
        mem->next = cls->mem_spare;
        cls->mem_spare = mem;
        cls->mem_spares++;
    }
    tp_lock_drop(&cls->memory);
    if (!keep)
        free(mem);
}

/* Checks segments that the caller or a stranger has given, and adds up their
 * length; 0: they cannot be. */
static uint64_t
total_length(const na_plugin_segment *segments, uint64_t count)
{
    uint64_t total = 0;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t base = (uintptr_t) segments[i].base;
        uint64_t length = segments[i].length;
        if (base == 0 || length == 0 || length > UINTPTR_MAX - base ||
            length > INT64_MAX - total)
            return 0;
        total += length;
    }
    return total;
}

/* Doubles the table; without memory for it, it stays as it is. [memory] */
static void
grow(na_plugin_class *cls)
{
    uint64_t mask = (UINT64_C(2) << cls->mems_bits) - 1;
    na_plugin_mem **mems = calloc((size_t) mask + 1, sizeof(*mems));
    if (mems == NULL)
        return;

    for (size_t i = 0; i >> cls->mems_bits == 0; i++) {
        while (cls->mems[i] != NULL) {
            na_plugin_mem *mem = cls->mems[i];
            cls->mems[i] = mem->next;
            mem->next = mems[mem->id & mask];
            mems[mem->id & mask] = mem;
        }
    }
    free(cls->mems);
    cls->mems = mems;
    cls->mems_bits++;
}

/* Where the registration with this key stands, or would. [memory] */
static na_plugin_mem **
find(na_plugin_class *cls, uint64_t id)
{
    uint64_t mask = (UINT64_C(1) << cls->mems_bits) - 1;
    na_plugin_mem **link = &cls->mems[id & mask];
    while (*link != NULL && (*link)->id != id)
        link = &(*link)->next;
    return link;
}

/* Gives a registration a key that no other one has. [memory] */
static bool
draw_key(na_plugin_class *cls, na_plugin_mem *mem)
{
    do
        if (!tp_random_draw(&cls->random, &mem->id))
            return false;
    while (*find(cls, mem->id) != NULL);
    return true;
}

int32_t
sm_mem_register(
    na_plugin_class *cls, const na_plugin_mem_info *info, na_plugin_mem **mem_p)
{
    if (info->size < NA_PLUGIN_MEM_INFO_SIZE_1_0 ||
        (info->flags & NA_PLUGIN_FLAGS_DEMANDS) != 0)
        return NA_PLUGIN_E_INVALID_ARG;
    if (info->mem_type != NA_PLUGIN_MEM_HOST) {
        TP_LOG(cls->host, ERROR,
            "memory of type %" PRIu32 "; only the host's can be shared",
            info->mem_type);
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    }

    uint64_t length = 0;
    if (info->count >= 1 && info->count <= SM_SEGMENTS)
        length = total_length(info->segments, info->count);
    if (length == 0 || info->access == 0 || (info->access & ~ACCESS) != 0) {
        TP_LOG(cls->host, ERROR,
            "%" PRIu64 " segments, access 0x%" PRIx32
            ": not 1 to %u, or one is empty, or access unknown",
            info->count, info->access, SM_SEGMENTS);
        return NA_PLUGIN_E_INVALID_ARG;
    }

    na_plugin_mem *mem = obtain(cls, (uint32_t) info->count);
    if (mem == NULL)
        return NA_PLUGIN_E_NOMEM;
    mem->owner = cls->owner;
    mem->length = length;
    mem->access = info->access;
    mem->count = (uint32_t) info->count;
    memcpy(
        mem->segments, info->segments, info->count * sizeof(*info->segments));

    tp_lock_take(&cls->memory);
    if (cls->mems_count >> cls->mems_bits != 0 && cls->mems_bits < 30)
        grow(cls);
    bool drawn = draw_key(cls, mem);
    if (drawn) {
        na_plugin_mem **link = find(cls, mem->id);
        mem->next = *link;
        *link = mem;
        cls->mems_count++;
        sm_shared_join(cls, mem);
        sm_registry_enter(&cls->registry, mem);
    }
    tp_lock_drop(&cls->memory);
    if (!drawn) {
        sm_mem_free(cls, mem);
        TP_LOG(cls->host, ERROR, "no random number for a key: %s",
            strerror(errno));
        return NA_PLUGIN_E_IO_ERROR;
    }
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

void
sm_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem)
{
    tp_lock_take(&cls->memory);
    na_plugin_mem **link = find(cls, mem->id);
    *link = mem->next;
    cls->mems_count--;
    sm_registry_remove(&cls->registry, mem);
    sm_shared_leave(cls, mem);
    tp_lock_drop(&cls->memory);
    sm_mem_free(cls, mem);
}

const na_plugin_mem *
sm_mem_find(na_plugin_class *cls, uint64_t id)
{
    return *find(cls, id);
}

bool
sm_mem_hold(na_plugin_class *cls, const na_plugin_mem *mem)
{
    tp_lock_take(&cls->memory);
    const na_plugin_mem *own = *find(cls, mem->id);
    bool genuine = mem->owner == cls->owner && own != NULL &&
                   own->count == mem->count &&
                   (mem->access & ~own->access) == 0 &&
                   memcmp(own->segments, mem->segments,
                       mem->count * sizeof(mem->segments[0])) == 0;
    if (!genuine)
        tp_lock_drop(&cls->memory);
    return genuine;
}

void
sm_mem_let_go(na_plugin_class *cls)
{
    tp_lock_drop(&cls->memory);
}

bool
sm_mem_genuine(na_plugin_class *cls, const na_plugin_mem *mem)
{
    bool genuine = sm_mem_hold(cls, mem);
    if (genuine)
        sm_mem_let_go(cls);
    return genuine;
}

/* The next piece of a range: where it is; *offset_p and *length_p move on to
 * what follows. */
static char *
next_piece(const na_plugin_mem *mem, uint32_t *segment_p, uint64_t *offset_p,
    uint64_t length, uint64_t *piece_p)
{
    const na_plugin_segment *segment = &mem->segments[*segment_p];

    while (*offset_p >= segment->length) {
        *offset_p -= segment->length;
        segment = &mem->segments[++*segment_p];
    }
    uint64_t rest = segment->length - *offset_p;
    *piece_p = rest < length ? rest : length;
    char *at = (char *) segment->base + *offset_p;
    *offset_p += *piece_p;
    return at;
}

void
sm_mem_gather(
    const na_plugin_mem *mem, uint64_t offset, void *to, uint64_t length)
{
    unsigned char *out = to;
    uint32_t segment = 0;
    uint64_t piece;

    for (; length > 0; length -= piece, out += piece) {
        const char *at = next_piece(mem, &segment, &offset, length, &piece);
        memcpy(out, at, piece);
    }
}

void
sm_mem_scatter(const na_plugin_mem *mem, uint64_t offset, const void *from,
    uint64_t length)
{
    const unsigned char *in = from;
    uint32_t segment = 0;
    uint64_t piece;

    for (; length > 0; length -= piece, in += piece) {
        char *at = next_piece(mem, &segment, &offset, length, &piece);
        memcpy(at, in, piece);
    }
}

/* The registration with a key, if it permits access to a range; else why not.
 * [memory] */
static int32_t
find_range(na_plugin_class *cls, uint64_t id, uint32_t access, uint64_t offset,
    uint32_t length, const na_plugin_mem **mem_p)
{
    const na_plugin_mem *mem = *find(cls, id);

    if (mem == NULL || offset > mem->length || length > mem->length - offset)
        return NA_PLUGIN_E_INVALID_ARG;
    if ((mem->access & access) == 0)
        return NA_PLUGIN_E_PERMISSION;
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

int32_t
sm_mem_read(na_plugin_class *cls, uint64_t id, uint64_t offset, void *to,
    uint32_t length)
{
    const na_plugin_mem *mem;

    /* held while copying: who deregisters may free the memory then */
    tp_lock_take(&cls->memory);
    int32_t ret = find_range(cls, id, NA_PLUGIN_MEM_READ, offset, length, &mem);
    if (ret == NA_PLUGIN_OK)
        sm_mem_gather(mem, offset, to, length);
    tp_lock_drop(&cls->memory);
    return ret;
}

int32_t
sm_mem_write(na_plugin_class *cls, uint64_t id, uint64_t offset,
    const void *from, uint32_t length)
{
    const na_plugin_mem *mem;

    tp_lock_take(&cls->memory);
    int32_t ret =
        find_range(cls, id, NA_PLUGIN_MEM_WRITE, offset, length, &mem);
    if (ret == NA_PLUGIN_OK)
        sm_mem_scatter(mem, offset, from, length);
    tp_lock_drop(&cls->memory);
    return ret;
}

static unsigned char *
pack(unsigned char *bytes, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        bytes[i] = (unsigned char) (value >> 8 * i);
    return bytes + width;
}

static uint64_t
unpack(const unsigned char *bytes, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value |= (uint64_t) bytes[i] << 8 * i;
    return value;
}

int32_t
sm_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem, void *buffer,
    uint64_t *size_p)
{
    uint64_t room = *size_p;
    *size_p = SERIAL_HEADER + (mem->shared != 0 ? SERIAL_AREA : 0) +
              (uint64_t) mem->count * SERIAL_SEGMENT;
    if (buffer == NULL)
        return NA_PLUGIN_OK;
    if (room < *size_p)
        return NA_PLUGIN_E_OVERFLOW;

    unsigned char *bytes = buffer;
    bytes = pack(bytes, SERIAL_VERSION, 1);
    bytes = pack(bytes, mem->access, 1);
    bytes = pack(bytes, mem->count, 2);
    bytes = pack(bytes, mem->shared != 0 ? FLAG_AREA : 0, 2);
    bytes = pack(bytes, mem->slot, 2);
    bytes = pack(bytes, mem->owner, 8);
    bytes = pack(bytes, mem->id, 8);
    if (mem->shared != 0) {
        bytes = pack(bytes, mem->shared, 8);
        bytes = pack(bytes, mem->shared_base, 8);
        bytes = pack(bytes, mem->shared_length, 8);
    }
    for (uint32_t i = 0; i < mem->count; i++) {
        bytes = pack(bytes, (uintptr_t) mem->segments[i].base, 8);
        bytes = pack(bytes, mem->segments[i].length, 8);
    }
    return NA_PLUGIN_OK;
}

/* Whether the segments that a stranger has given lie in the area that it has
 * given, if it has. */
static bool
area_holds(const na_plugin_mem *mem)
{
    if (mem->shared == 0)
        return mem->shared_length == 0;
    for (uint32_t i = 0; i < mem->count; i++) {
        uint64_t base = (uintptr_t) mem->segments[i].base;
        uint64_t at = base - mem->shared_base;
        if (base < mem->shared_base || at > mem->shared_length ||
            mem->segments[i].length > mem->shared_length - at)
            return false;
    }
    return true;
}

int32_t
sm_mem_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_mem **mem_p)
{
    const unsigned char *bytes = buffer;
    uint32_t access = 0;
    uint32_t count = 0;
    uint32_t flags = 0;
    uint64_t head = SERIAL_HEADER;

    if (length >= SERIAL_HEADER && bytes[0] != SERIAL_VERSION) {
        TP_LOG(cls->host, WARNING,
            "serialized registration of version %u; known is %d", bytes[0],
            SERIAL_VERSION);
        return NA_PLUGIN_E_PROTOCOL_ERROR;
    }
    if (length >= SERIAL_HEADER) {
        access = bytes[1];
        count = (uint32_t) unpack(bytes + 2, 2);
        flags = (uint32_t) unpack(bytes + 4, 2);
    }
    if ((flags & FLAG_AREA) != 0)
        head += SERIAL_AREA;
    if (access == 0 || (access & ~ACCESS) != 0 || count == 0 ||
        count > SM_SEGMENTS || (flags & ~FLAG_AREA) != 0 ||
        length < head + (uint64_t) count * SERIAL_SEGMENT)
        goto refuse;

    na_plugin_mem *mem = obtain(cls, count);
    if (mem == NULL)
        return NA_PLUGIN_E_NOMEM;
    mem->access = access;
    mem->count = count;
    mem->owner = unpack(bytes + 8, 8);
    mem->slot = (uint32_t) unpack(bytes + 6, 2);
    mem->id = unpack(bytes + 16, 8);
    mem->within = NULL;
    mem->shared = mem->shared_base = mem->shared_length = 0;
    if ((flags & FLAG_AREA) != 0) {
        mem->shared = unpack(bytes + SERIAL_HEADER, 8);
        mem->shared_base = unpack(bytes + SERIAL_HEADER + 8, 8);
        mem->shared_length = unpack(bytes + SERIAL_HEADER + 16, 8);
    }
    for (uint32_t i = 0; i < count; i++) {
        bytes += i == 0 ? head : SERIAL_SEGMENT;
        mem->segments[i].base = (void *) (uintptr_t) unpack(bytes, 8);
        mem->segments[i].length = unpack(bytes + 8, 8);
    }
    mem->length = total_length(mem->segments, count);
    if (mem->length == 0 || !area_holds(mem)) {
        sm_mem_free(cls, mem);
        goto refuse;
    }
    *mem_p = mem;
    return NA_PLUGIN_OK;

refuse:
    TP_LOG(cls->host, WARNING,
        "%" PRIu64 " bytes are no serialized registration", length);
    return NA_PLUGIN_E_INVALID_ARG;
}
