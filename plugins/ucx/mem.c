/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations: segments in a row, found by a random number that their bytes
 * carry, so that what a peer asks for is checked here. */
#include <stdlib.h>
#include <string.h>

#include "key.h"
#include "mem.h"

#define SERIAL_VERSION 2U

static void
release(void *cls, struct tp_keyed *keyed)
{
    na_plugin_mem *mem = TP_OBJECT(keyed, na_plugin_mem, mem.keyed);

    if (mem->own)
        ucx_key_unmap(cls, mem);
    free(mem->keys);
    free(mem);
}

uint32_t
ucx_mem_fini(na_plugin_class *cls)
{
    return tp_table_free(&cls->mems, release, cls);
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
    void *made;

    int32_t ret = tp_mem_make(cls->host, info, UCX_SEGMENTS, false,
        offsetof(na_plugin_mem, segments), 0, &made);
    if (ret != NA_PLUGIN_OK)
        return ret;
    na_plugin_mem *mem = made;
    mem->mem.owner = cls->number;
    mem->own = true;
    tp_mutex_take(&cls->lock);
    bool drawn = draw_number(cls, &mem->mem.keyed.key);
    if (drawn) {
        ucx_key_map(cls, mem);
        tp_table_insert(&cls->mems, &mem->mem.keyed);
    }
    tp_mutex_drop(&cls->lock);
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
    tp_mutex_take(&cls->lock);
    tp_table_remove(&cls->mems, &mem->mem.keyed);
    release(cls, &mem->mem.keyed);
    tp_mutex_drop(&cls->lock);
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
    const unsigned char *keys;
    uint32_t keys_length;
    void *made;

    int32_t ret =
        tp_mem_read(cls->host, SERIAL_VERSION, buffer, length, UCX_SEGMENTS,
            offsetof(na_plugin_mem, segments), 0, &made, &keys, &keys_length);
    if (ret != NA_PLUGIN_OK)
        return ret;
    na_plugin_mem *mem = made;
    if (keys_length != 0) {
        mem->keys = malloc(keys_length);
        if (mem->keys == NULL)
            ret = NA_PLUGIN_E_NOMEM;
    }
    if (mem->keys != NULL) {
        memcpy(mem->keys, keys, keys_length);
        mem->keys_length = keys_length;
        if (!ucx_key_sound(mem)) {
            TP_LOG(cls->host, WARNING,
                "malformed key in a serialized registration");
            ret = NA_PLUGIN_E_INVALID_ARG;
        }
    }
    if (ret == NA_PLUGIN_OK)
        *mem_p = mem;
    else
        release(cls, &mem->mem.keyed);
    return ret;
}

void
ucx_mem_free(na_plugin_class *cls, na_plugin_mem *mem)
{
    tp_mutex_take(&cls->lock);
    ucx_key_forget_mem(mem);
    tp_mutex_drop(&cls->lock);
    release(cls, &mem->mem.keyed);
}
