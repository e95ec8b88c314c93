/* SPDX-License-Identifier: BSD-3-Clause */
/* The target of puts and gets: registrations, and what peers ask of them. */
#include <stddef.h>
#include <stdlib.h>

#include "engine.h"
#include "rma.h"

#define SERIAL_VERSION 1U
#define ANSWERS (4 * NAMPI_TRANSFERS) /* under way to a peer */

static na_plugin_mem *
find(const na_plugin_class *cls, uint64_t number)
{
    struct tp_keyed *keyed = tp_table_find(&cls->mems, NULL, number);

    return keyed != NULL ? TP_OBJECT(keyed, na_plugin_mem, mem.keyed) : NULL;
}

/* Whether a peer may do that with a registration, which is then *mem_p. */
static int32_t
permits(const na_plugin_addr *peer, const struct nampi_wire *head,
    const na_plugin_mem **mem_p)
{
    uint32_t right =
        head->kind == NAMPI_PUT ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ;
    const na_plugin_mem *mem = find(peer->cls, head->memory);

    int32_t ret = mem != NULL ? tp_mem_permits(&mem->mem, head->offset,
                                    head->length, right)
                              : NA_PLUGIN_E_INVALID_ARG;
    if (ret != NA_PLUGIN_OK)
        TP_LOG(peer->cls->host, INFO, "rank %u may not %s %u bytes: %s",
            (unsigned) peer->name.rank,
            head->kind == NAMPI_PUT ? "write" : "read", (unsigned) head->length,
            mem == NULL                     ? "no such registration"
            : ret == NA_PLUGIN_E_PERMISSION ? "no right"
                                            : "out of range");
    *mem_p = mem;
    return ret;
}

/* The answer to a chunk, with the data of a get; NULL: no memory. */
static struct nampi_send *
answer(const struct nampi_wire *head, const na_plugin_mem *mem, int32_t status)
{
    bool get = head->kind == NAMPI_GET;
    bool data = get && status == NA_PLUGIN_OK;
    struct nampi_send *send = nampi_send_new(data ? head->length : 0);

    if (send == NULL)
        return NULL;
    send->head.kind = get ? NAMPI_DATA : NAMPI_ACK;
    send->head.to_ctx = head->from_ctx;
    send->head.value = (uint32_t) status;
    send->head.transfer = head->transfer;
    send->head.offset = head->offset;
    if (data)
        tp_segments_read(mem->segments, head->offset, send->data, head->length);
    else if (!get)
        send->head.length = head->length;
    return send;
}

void
nampi_target_take(na_plugin_addr *peer, const struct nampi_wire *head,
    const unsigned char *data)
{
    const na_plugin_mem *mem;

    /* An honest peer has a window; answers to others are memory without bound. */
    if (peer->answers >= ANSWERS) {
        tp_count(&peer->cls->counters.malformed, 1);
        return;
    }
    int32_t status = permits(peer, head, &mem);
    if (status == NA_PLUGIN_OK && head->kind == NAMPI_PUT)
        tp_segments_write(mem->segments, head->offset, data, head->length);
    struct nampi_send *send = answer(head, mem, status);
    if (send == NULL)
        send = answer(head, mem, NA_PLUGIN_E_NOMEM);
    if (send == NULL || nampi_send_to(peer, send) != NA_PLUGIN_OK)
        TP_LOG(peer->cls->host, WARNING, "rank %u gets no answer",
            (unsigned) peer->name.rank);
}

/* Gives it a number that cannot be guessed. */
static bool
enter(na_plugin_class *cls, na_plugin_mem *mem)
{
    do {
        if (!tp_random_draw(&cls->random, &mem->mem.keyed.key))
            return false;
    } while (find(cls, mem->mem.keyed.key) != NULL);
    tp_table_insert(&cls->mems, &mem->mem.keyed);
    return true;
}

int32_t
nampi_mem_register(
    na_plugin_class *cls, const na_plugin_mem_info *info, na_plugin_mem **mem_p)
{
    void *made;

    int32_t ret = tp_mem_make(cls->host, info, NAMPI_SEGMENTS, false,
        offsetof(na_plugin_mem, segments), 0, &made);
    if (ret != NA_PLUGIN_OK)
        return ret;
    na_plugin_mem *mem = made;
    mem->mem.owner = cls->life;
    tp_lock_take(&nampi_lock);
    bool entered = enter(cls, mem);
    tp_lock_drop(&nampi_lock);
    if (!entered) {
        TP_LOG(cls->host, ERROR, "no random number for a registration");
        free(mem);
        return NA_PLUGIN_E_IO_ERROR;
    }
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

void
nampi_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem)
{
    tp_lock_take(&nampi_lock);
    tp_table_remove(&cls->mems, &mem->mem.keyed);
    tp_lock_drop(&nampi_lock);
    free(mem);
}

int32_t
nampi_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem,
    void *buffer, uint64_t *size_p)
{
    return tp_mem_serialize(
        SERIAL_VERSION, &mem->mem, mem->segments, NULL, 0, buffer, size_p);
}

int32_t
nampi_mem_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_mem **mem_p)
{
    const unsigned char *extra;
    uint32_t extra_length;
    void *made;

    int32_t ret =
        tp_mem_read(cls->host, SERIAL_VERSION, buffer, length, NAMPI_SEGMENTS,
            offsetof(na_plugin_mem, segments), 0, &made, &extra, &extra_length);
    if (ret == NA_PLUGIN_OK)
        *mem_p = made;
    return ret;
}

void
nampi_mem_remote_free(na_plugin_class *cls, na_plugin_mem *mem)
{
    free(mem);
}
