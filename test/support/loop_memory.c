/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the loop plugin: registrations, serialization, put and get. */
#include "loop_internal.h"

#include <stdlib.h>
#include <string.h>

#define SERIAL_MAGIC 0x314d504cU

struct serial {
    uint32_t magic;
    uint32_t number;
    uint64_t id;
    uint64_t size;
    uint32_t access;
    uint32_t zero;
};

int32_t
loop_mem_register(
    na_plugin_class *cls, const na_plugin_mem_info *info, na_plugin_mem **mem_p)
{
    static uint64_t last_id;
    na_plugin_mem *mem;

    if (info->size < NA_PLUGIN_MEM_INFO_SIZE_1_0)
        loop_violated("registration info of %u bytes", info->size);
    loop_check_flags(info->flags);
    if (info->mem_type != NA_PLUGIN_MEM_HOST)
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    if (info->count == 0 || info->count > cls->limits.max_segments)
        loop_violated(
            "registration of %llu segments", (unsigned long long) info->count);
    if (info->access == 0 ||
        info->access > (NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE))
        loop_violated("registration with access %u", info->access);
    mem = calloc(1, sizeof *mem + info->count * sizeof mem->segments[0]);
    if (!mem)
        return NA_PLUGIN_E_NOMEM;
    mem->number = cls->number;
    mem->access = info->access;
    mem->count = info->count;
    for (uint64_t i = 0; i < info->count; i++) {
        if (!info->segments[i].base || info->segments[i].length == 0)
            loop_violated("empty segment registered");
        mem->segments[i] = info->segments[i];
        mem->size += info->segments[i].length;
    }
    pthread_mutex_lock(&loop_lock);
    mem->id = ++last_id;
    LIST_INSERT_HEAD(&cls->mems, mem, next);
    pthread_mutex_unlock(&loop_lock);
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

void
loop_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem)
{
    if (mem->remote)
        loop_violated("remote memory deregistered");
    pthread_mutex_lock(&loop_lock);
    LIST_REMOVE(mem, next);
    pthread_mutex_unlock(&loop_lock);
    free(mem);
}

int32_t
loop_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem, void *buffer,
    uint64_t *size_p)
{
    const struct serial serial = {.magic = SERIAL_MAGIC,
        .number = mem->number,
        .id = mem->id,
        .size = mem->size,
        .access = mem->access};
    uint64_t room = *size_p;

    *size_p = sizeof serial;
    if (!buffer)
        return NA_PLUGIN_OK;
    if (room < sizeof serial)
        return NA_PLUGIN_E_OVERFLOW;
    memcpy(buffer, &serial, sizeof serial);
    return NA_PLUGIN_OK;
}

int32_t
loop_mem_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_mem **mem_p)
{
    struct serial serial;
    na_plugin_mem *mem;

    if (length != sizeof serial)
        return NA_PLUGIN_E_INVALID_ARG;
    memcpy(&serial, buffer, sizeof serial);
    if (serial.magic != SERIAL_MAGIC || serial.zero != 0 || serial.size == 0)
        return NA_PLUGIN_E_INVALID_ARG;
    mem = calloc(1, sizeof *mem);
    if (!mem)
        return NA_PLUGIN_E_NOMEM;
    mem->remote = true;
    mem->number = serial.number;
    mem->id = serial.id;
    mem->size = serial.size;
    mem->access = serial.access;
    pthread_mutex_lock(&loop_lock);
    cls->remote_mem_count++;
    pthread_mutex_unlock(&loop_lock);
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

void
loop_mem_free(na_plugin_class *cls, na_plugin_mem *mem)
{
    if (!mem->remote)
        loop_violated("local memory freed instead of deregistered");
    pthread_mutex_lock(&loop_lock);
    cls->remote_mem_count--;
    pthread_mutex_unlock(&loop_lock);
    free(mem);
}

/* The registration that a remote memory descriptor refers to. */
static const na_plugin_mem *
owner_of(const na_plugin_mem *remote)
{
    const na_plugin_class *cls = loop_class_find(remote->number);
    const na_plugin_mem *mem;

    if (!cls)
        return NULL;
    LIST_FOREACH (mem, &cls->mems, next)
        if (mem->id == remote->id)
            return mem;
    return NULL;
}

/* The contiguous part at an offset, at most left bytes long. */
static unsigned char *
piece(
    const na_plugin_mem *mem, uint64_t offset, uint64_t left, uint64_t *size_p)
{
    uint64_t i = 0;

    while (offset >= mem->segments[i].length)
        offset -= mem->segments[i++].length;
    *size_p = mem->segments[i].length - offset;
    if (*size_p > left)
        *size_p = left;
    return (unsigned char *) mem->segments[i].base + offset;
}

static void
copy(const na_plugin_mem *from, uint64_t from_offset, const na_plugin_mem *to,
    uint64_t to_offset, uint64_t length)
{
    while (length > 0) {
        uint64_t size;
        const unsigned char *source = piece(from, from_offset, length, &size);
        unsigned char *sink = piece(to, to_offset, size, &size);

        memmove(sink, source, size);
        from_offset += size;
        to_offset += size;
        length -= size;
    }
}

static bool
beyond(const na_plugin_mem *mem, uint64_t offset, uint64_t length)
{
    return offset > mem->size || length > mem->size - offset;
}

int32_t
loop_rma_perform(struct loop_op *op)
{
    const na_plugin_mem *owner = owner_of(op->remote);
    bool put = op->kind == LOOP_PUT;

    if (!owner)
        return NA_PLUGIN_E_HOSTUNREACH;
    if (beyond(op->local, op->local_offset, op->length) ||
        beyond(owner, op->remote_offset, op->length))
        return NA_PLUGIN_E_INVALID_ARG;
    if (!(op->local->access & (put ? NA_PLUGIN_MEM_READ : NA_PLUGIN_MEM_WRITE)))
        return NA_PLUGIN_E_PERMISSION;
    if (!(owner->access & (put ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ)))
        return NA_PLUGIN_E_PERMISSION;
    if (put)
        copy(op->local, op->local_offset, owner, op->remote_offset, op->length);
    else
        copy(owner, op->remote_offset, op->local, op->local_offset, op->length);
    return NA_PLUGIN_OK;
}

static int32_t
submit(na_plugin_ctx *ctx, struct loop_op *op, enum loop_kind kind,
    na_plugin_mem *local, uint64_t local_offset, na_plugin_mem *remote,
    uint64_t remote_offset, uint64_t length, const na_plugin_addr *peer,
    uint32_t peer_ctx)
{
    uint64_t max = ctx->cls->limits.max_rma_size;
    int32_t code;

    if (local->remote || !remote->remote)
        loop_violated("local and remote memory swapped");
    if (max > 0 && length > max)
        loop_violated(
            "%llu bytes in one put or get", (unsigned long long) length);
    pthread_mutex_lock(&loop_lock);
    loop_op_begin(op, ctx, kind);
    op->local = local;
    op->local_offset = local_offset;
    op->remote = remote;
    op->remote_offset = remote_offset;
    op->length = length;
    op->peer = peer->number;
    op->peer_ctx = peer_ctx;
    loop_rma_count(peer_ctx);
    code = loop_op_submit(op);
    pthread_mutex_unlock(&loop_lock);
    return code;
}

int32_t
loop_put(na_plugin_ctx *ctx, void *part, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    loop_check_flags(flags);
    return submit(ctx, part, LOOP_PUT, local, local_offset, remote,
        remote_offset, length, peer, peer_ctx);
}

int32_t
loop_get(na_plugin_ctx *ctx, void *part, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    loop_check_flags(flags);
    return submit(ctx, part, LOOP_GET, local, local_offset, remote,
        remote_offset, length, peer, peer_ctx);
}
