/* SPDX-License-Identifier: BSD-3-Clause */
/* Registering memory costs no system call of its own: a registration is its
 * segments, a random id, and the number of its class. Nobody reaches memory whose
 * id he does not know. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/memfd.h"
#include "mem.h"
#include "shared.h"

#define SMALL 4U    /* segments that a recycled object has room for */
#define SPARES 256U /* objects kept for the next registration */
#define SERIAL_VERSION 3U
#define SERIAL_SLOT 2U    /* bytes behind the segments, */
#define SERIAL_SHARED 24U /* and of the shared segment, if there is one */

void
sm_mem_init(na_plugin_class *cls)
{
    int error = sm_registry_init(&cls->registry);

    if (error != 0)
        TP_LOG(cls->host, INFO,
            "no registry (%s): puts and gets of this class's memory are "
            "emulated by messages",
            tp_memfd_error(error));
}

static na_plugin_mem *
mem_of(struct tp_link *link)
{
    return TP_OBJECT(link, na_plugin_mem, mem.keyed.link);
}

uint32_t
sm_mem_fini(na_plugin_class *cls)
{
    struct tp_link *link;

    while ((link = tp_list_pop(&cls->mem_spare)) != NULL)
        free(mem_of(link));
    sm_registry_fini(&cls->registry);
    return tp_table_free(&cls->mems, NULL, NULL);
}

/* A registration with this front, and room for its segments. */
static na_plugin_mem *
make(na_plugin_class *cls, const struct tp_mem *front)
{
    uint32_t room = front->count > SMALL ? front->count : SMALL;
    struct tp_link *spare = NULL;

    if (room == SMALL) {
        tp_lock_take(&cls->memory);
        spare = tp_list_pop(&cls->mem_spare);
        cls->mem_spares -= spare != NULL;
        tp_lock_drop(&cls->memory);
    }
    na_plugin_mem *mem =
        spare != NULL ? mem_of(spare)
                      : malloc(sizeof(*mem) + room * sizeof(mem->segments[0]));
    if (mem != NULL)
        *mem = (na_plugin_mem){.mem = *front, .room = room};
    return mem;
}

void
sm_mem_free(na_plugin_class *cls, na_plugin_mem *mem)
{
    tp_lock_take(&cls->memory);
    bool keep = mem->room == SMALL && cls->mem_spares < SPARES;
    if (keep) {
        tp_list_append(&cls->mem_spare, &mem->mem.keyed.link);
        cls->mem_spares++;
    }
    tp_lock_drop(&cls->memory);
    if (!keep)
        free(mem);
}

const na_plugin_mem *
sm_mem_find(const na_plugin_class *cls, uint64_t id)
{
    struct tp_keyed *keyed = tp_table_find(&cls->mems, NULL, id);

    return keyed != NULL ? mem_of(&keyed->link) : NULL;
}

/* Enters a registration under an id that no other one has. [memory] */
static bool
enter(na_plugin_class *cls, na_plugin_mem *mem)
{
    do
        if (!tp_random_draw(&cls->random, &mem->mem.keyed.key))
            return false;
    while (sm_mem_find(cls, mem->mem.keyed.key) != NULL);
    tp_table_insert(&cls->mems, &mem->mem.keyed);
    sm_shared_join(cls, mem);
    sm_registry_enter(&cls->registry, mem);
    return true;
}

int32_t
sm_mem_register(
    na_plugin_class *cls, const na_plugin_mem_info *info, na_plugin_mem **mem_p)
{
    struct tp_mem front = {.owner = cls->owner};

    int32_t ret = tp_mem_check(cls->host, info, SM_SEGMENTS, false, &front);
    if (ret != NA_PLUGIN_OK)
        return ret;
    na_plugin_mem *mem = make(cls, &front);
    if (mem == NULL)
        return NA_PLUGIN_E_NOMEM;
    memcpy(
        mem->segments, info->segments, info->count * sizeof(*info->segments));
    tp_lock_take(&cls->memory);
    bool entered = enter(cls, mem);
    tp_lock_drop(&cls->memory);
    if (!entered) {
        sm_mem_free(cls, mem);
        TP_LOG(cls->host, ERROR, "no random number for a registration: %s",
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
    tp_table_remove(&cls->mems, &mem->mem.keyed);
    sm_registry_remove(&cls->registry, mem);
    sm_shared_leave(cls, mem);
    tp_lock_drop(&cls->memory);
    sm_mem_free(cls, mem);
}

bool
sm_mem_hold(na_plugin_class *cls, const na_plugin_mem *mem)
{
    tp_lock_take(&cls->memory);
    const na_plugin_mem *own = sm_mem_find(cls, mem->mem.keyed.key);
    bool genuine = mem->mem.owner == cls->owner && own != NULL &&
                   own->mem.count == mem->mem.count &&
                   (mem->mem.access & ~own->mem.access) == 0 &&
                   memcmp(own->segments, mem->segments,
                       mem->mem.count * sizeof(mem->segments[0])) == 0;
    if (!genuine)
        tp_lock_drop(&cls->memory);
    return genuine;
}

void
sm_mem_release(na_plugin_class *cls)
{
    tp_lock_drop(&cls->memory);
}

int32_t
sm_mem_copy(na_plugin_class *cls, uint64_t id, uint64_t offset, void *buffer,
    uint32_t length, bool write)
{
    int32_t ret = NA_PLUGIN_E_INVALID_ARG;

    /* held while copying: the memory may be freed once it is deregistered */
    tp_lock_take(&cls->memory);
    const na_plugin_mem *mem = sm_mem_find(cls, id);
    if (mem != NULL)
        ret = tp_mem_permits(&mem->mem, offset, length,
            write ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ);
    if (ret == NA_PLUGIN_OK && write)
        tp_segments_write(mem->segments, offset, buffer, length);
    else if (ret == NA_PLUGIN_OK)
        tp_segments_read(mem->segments, offset, buffer, length);
    tp_lock_drop(&cls->memory);
    return ret;
}

int32_t
sm_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem, void *buffer,
    uint64_t *size_p)
{
    unsigned char extra[SERIAL_SLOT + SERIAL_SHARED];
    unsigned char *end = tp_pack(extra, mem->slot, SERIAL_SLOT);

    if (mem->shared != 0) {
        end = tp_pack(end, mem->shared, 8);
        end = tp_pack(end, mem->shared_base, 8);
        end = tp_pack(end, mem->shared_length, 8);
    }
    return tp_mem_serialize(SERIAL_VERSION, &mem->mem, mem->segments, extra,
        (uint32_t) (end - extra), buffer, size_p);
}

/* Whether the segments that a peer has given lie in the shared segment that it
 * has given, if it has. */
static bool
shared_valid(const na_plugin_mem *mem)
{
    if (mem->shared == 0)
        return mem->shared_length == 0;
    for (uint32_t i = 0; i < mem->mem.count; i++) {
        uint64_t base = (uintptr_t) mem->segments[i].base;
        uint64_t at = base - mem->shared_base;
        if (base < mem->shared_base || at > mem->shared_length ||
            mem->segments[i].length > mem->shared_length - at)
            return false;
    }
    return true;
}

/* Reads what is behind the segments. */
static bool
read_extra(na_plugin_mem *mem, const unsigned char *extra, uint32_t length)
{
    if (length != SERIAL_SLOT && length != SERIAL_SLOT + SERIAL_SHARED)
        return false;
    mem->slot = (uint32_t) tp_unpack(extra, SERIAL_SLOT);
    if (length != SERIAL_SLOT) {
        mem->shared = tp_unpack(extra + SERIAL_SLOT, 8);
        mem->shared_base = tp_unpack(extra + SERIAL_SLOT + 8, 8);
        mem->shared_length = tp_unpack(extra + SERIAL_SLOT + 16, 8);
    }
    return shared_valid(mem);
}

int32_t
sm_mem_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_mem **mem_p)
{
    struct tp_mem front = {.total = 0};
    const unsigned char *extra;
    uint32_t extra_length;

    int32_t ret = tp_mem_deserialize_front(cls->host, SERIAL_VERSION, buffer,
        length, SM_SEGMENTS, &front, &extra, &extra_length);
    if (ret != NA_PLUGIN_OK)
        return ret;
    na_plugin_mem *mem = make(cls, &front);
    if (mem == NULL)
        return NA_PLUGIN_E_NOMEM;
    ret = tp_mem_deserialize_segments(
        cls->host, buffer, &mem->mem, mem->segments);
    if (ret == NA_PLUGIN_OK && !read_extra(mem, extra, extra_length)) {
        TP_LOG(cls->host, WARNING,
            "malformed shared segment in a serialized registration");
        ret = NA_PLUGIN_E_INVALID_ARG;
    }
    if (ret != NA_PLUGIN_OK) {
        sm_mem_free(cls, mem);
        return ret;
    }
    *mem_p = mem;
    return NA_PLUGIN_OK;
}
