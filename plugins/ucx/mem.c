/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations: segments in a row, found by a random number that their bytes
 * carry, so that what a peer asks for is checked here. */
#include <stdlib.h>
#include <string.h>

#include "key.h"
#include "mem.h"

#define SERIAL_VERSION 2U

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
    struct tp_list list = {NULL, NULL};
    struct tp_link *link;
    uint32_t left = 0;

    tp_table_take_all(&cls->mems, NULL, &list);
    for (; (link = tp_list_pop(&list)) != NULL; left++)
        release(cls, TP_OBJECT(link, na_plugin_mem, mem.keyed.link));
    tp_table_fini(&cls->mems);
    return left;
}

/* A registration with room for the segments of mem. */
static na_plugin_mem *
make(const struct tp_mem *mem)
{
    na_plugin_mem *made =
        calloc(1, sizeof(*made) + mem->count * sizeof(made->segments[0]));

    if (made != NULL)
        made->mem = *mem;
    return made;
}

/* Draws the number that peers reach the memory by: knowing one number must not
 * help to find another. */
static bool
draw_number(na_plugin_class *cls, uint64_t *number_p)
{
    do {
        if (!tp_random_draw(&cls->random, number_p))
            return false;
    } while (ucx_mem_find(cls, *number_p) != NULL);
    return true;
}

int32_t
ucx_mem_register(
    na_plugin_class *cls, const na_plugin_mem_info *info, na_plugin_mem **mem_p)
{
    struct tp_mem front = {.owner = cls->number};

    int32_t ret = tp_mem_check(cls->host, info, UCX_SEGMENTS, false, &front);
    if (ret != NA_PLUGIN_OK)
        return ret;
    na_plugin_mem *mem = make(&front);
    if (mem == NULL)
        return NA_PLUGIN_E_NOMEM;
    memcpy(
        mem->segments, info->segments, info->count * sizeof(*info->segments));
    mem->own = true;
    tp_lock_take(&cls->lock);
    bool drawn = draw_number(cls, &mem->mem.keyed.key);
    if (drawn) {
        ucx_key_map(cls, mem);
        tp_table_insert(&cls->mems, &mem->mem.keyed);
    }
    tp_lock_drop(&cls->lock);
    if (!drawn) {
        TP_LOG(cls->host, ERROR, "no random number for a registration");
        free(mem);
        return NA_PLUGIN_E_IO_ERROR;
    }
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

void
ucx_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem)
{
    tp_lock_take(&cls->lock);
    tp_table_remove(&cls->mems, &mem->mem.keyed);
    release(cls, mem);
    tp_lock_drop(&cls->lock);
}

int32_t
ucx_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem, void *buffer,
    uint64_t *size_p)
{
    return tp_mem_serialize(SERIAL_VERSION, &mem->mem, mem->segments, mem->keys,
        mem->keys_length, buffer, size_p);
}

int32_t
ucx_mem_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_mem **mem_p)
{
    struct tp_mem front = {.total = 0};
    const unsigned char *keys;
    uint32_t keys_length;

    int32_t ret = tp_mem_deserialize_front(cls->host, SERIAL_VERSION, buffer,
        length, UCX_SEGMENTS, &front, &keys, &keys_length);
    if (ret != NA_PLUGIN_OK)
        return ret;
    na_plugin_mem *mem = make(&front);
    if (mem == NULL)
        return NA_PLUGIN_E_NOMEM;
    ret = tp_mem_deserialize_segments(
        cls->host, buffer, &mem->mem, mem->segments);
    if (ret == NA_PLUGIN_OK && keys_length != 0) {
        mem->keys = malloc(keys_length);
        if (mem->keys == NULL)
            ret = NA_PLUGIN_E_NOMEM;
    }
    if (ret == NA_PLUGIN_OK && keys_length != 0) {
        memcpy(mem->keys, keys, keys_length);
        mem->keys_length = keys_length;
        if (!ucx_key_sound(mem)) {
            TP_LOG(cls->host, WARNING,
                "malformed key in a serialized registration");
            ret = NA_PLUGIN_E_INVALID_ARG;
        }
    }
    if (ret != NA_PLUGIN_OK) {
        release(cls, mem);
        return ret;
    }
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

void
ucx_mem_free(na_plugin_class *cls, na_plugin_mem *mem)
{
    tp_lock_take(&cls->lock);
    ucx_key_forget_mem(mem);
    tp_lock_drop(&cls->lock);
    release(cls, mem);
}
