/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations. Peers name them by a number that nobody can guess. */
#include <stddef.h>
#include <stdlib.h>

#include "common/transport_private.h"

#define FORM 1U /* of the bytes of a serialized registration */
#define FRONT offsetof(na_plugin_mem, segments)

/* Gives it a number. */
static bool
enter(struct tp_transport *transport, na_plugin_mem *mem)
{
    struct tp_keyed *keyed = &mem->base.keyed;

    do {
        if (!tp_random_draw(&transport->random, &keyed->key))
            return false;
    } while (tp_table_find(&transport->mems, NULL, keyed->key) != NULL);
    tp_table_insert(&transport->mems, keyed);
    return true;
}

int32_t
tp_mem_register(
    na_plugin_class *cls, const na_plugin_mem_info *info, na_plugin_mem **mem_p)
{
    struct tp_transport *transport = tp_transport_of(cls);
    void *made;

    int32_t ret =
        tp_mem_make(transport->host, info, TP_SEGMENTS, false, FRONT, 0, &made);
    if (ret != NA_PLUGIN_OK)
        return ret;
    tp_mutex_take(transport->lock);
    bool entered = enter(transport, made);
    tp_mutex_drop(transport->lock);
    if (!entered) {
        TP_LOG(transport->host, ERROR, "no random number for a registration");
        free(made);
        return NA_PLUGIN_E_IO_ERROR;
    }
    *mem_p = made;
    return NA_PLUGIN_OK;
}

void
tp_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem)
{
    struct tp_transport *transport = tp_transport_of(cls);

    tp_mutex_take(transport->lock);
    tp_table_remove(&transport->mems, &mem->base.keyed);
    tp_mutex_drop(transport->lock);
    free(mem);
}

int32_t
tp_mem_to_bytes(na_plugin_class *cls, const na_plugin_mem *mem, void *buffer,
    uint64_t *size_p)
{
    return tp_mem_serialize(
        FORM, &mem->base, mem->segments, NULL, 0, buffer, size_p);
}

int32_t
tp_mem_from_bytes(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_mem **mem_p)
{
    const unsigned char *extra;
    uint32_t extra_length;
    void *made;

    int32_t ret = tp_mem_read(tp_transport_of(cls)->host, FORM, buffer, length,
        TP_SEGMENTS, FRONT, 0, &made, &extra, &extra_length);
    if (ret == NA_PLUGIN_OK)
        *mem_p = made;
    return ret;
}

void
tp_mem_remote_free(na_plugin_class *cls, na_plugin_mem *mem)
{
    free(mem);
}
