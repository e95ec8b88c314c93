/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the wire plugin: puts and gets are records that the owner checks
 * and serves, one fragment at a time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

#define SERIAL_MAGIC 0x4d524957U
#define ACCESS (NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE)

/* A serialized registration. */
struct serial {
    uint32_t magic;
    uint32_t access;
    uint64_t owner;
    uint64_t id;
    uint64_t length;
};

/* Total size of all segments; 0 if it overflows. */
static uint64_t
total_length(const na_plugin_segment *segments, uint64_t count)
{
    uint64_t total = 0;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t length = segments[i].length;

        if (!segments[i].base || length == 0 ||
            length > UINTPTR_MAX - (uintptr_t) segments[i].base ||
            length > INT64_MAX - total)
            return 0;
        total += length;
    }
    return total;
}

int32_t
wire_mem_register(
    na_plugin_class *cls, const na_plugin_mem_info *info, na_plugin_mem **mem_p)
{
    uint64_t length = info->count <= WIRE_SEGMENTS
                          ? total_length(info->segments, info->count)
                          : 0;
    na_plugin_mem *mem;

    if (info->size < NA_PLUGIN_MEM_INFO_SIZE_1_0 ||
        ((info->flags & NA_PLUGIN_FLAGS_DEMANDS) != 0 &&
            !wire_breaks(cls, WIRE_mem_takes_all)))
        return NA_PLUGIN_E_INVALID_ARG;
    if (info->mem_type != NA_PLUGIN_MEM_HOST) {
        WIRE_LOG(cls->host, ERROR, "memory of type %u", info->mem_type);
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    }
    if (length == 0 || info->access == 0 || (info->access & ~ACCESS) != 0) {
        WIRE_LOG(cls->host, ERROR,
            "%llu segments, access 0x%x: not 1 to %u, one is empty, or access "
            "unknown",
            (unsigned long long) info->count, info->access, WIRE_SEGMENTS);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    mem = calloc(1, sizeof *mem);
    if (!mem)
        return NA_PLUGIN_E_NOMEM;
    mem->owner = cls->instance;
    mem->length = length;
    mem->access = info->access;
    mem->count = (uint32_t) info->count;
    memcpy(mem->segments, info->segments, info->count * sizeof *info->segments);
    for (uint64_t i = 0;
         wire_breaks(cls, WIRE_segments_reversed) && i < info->count; i++)
        mem->segments[i] = info->segments[info->count - 1 - i];
    pthread_mutex_lock(&cls->lock);
    for (uint32_t i = 0; i < WIRE_CONTEXTS; i++)
        mem->contexts |= (uint32_t) cls->contexts[i].alive << i;
    mem->id = ++cls->last_id;
    TAILQ_INSERT_TAIL(&cls->mems, mem, next);
    pthread_mutex_unlock(&cls->lock);
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

void
wire_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem)
{
    pthread_mutex_lock(&cls->lock);
    TAILQ_REMOVE(&cls->mems, mem, next);
    pthread_mutex_unlock(&cls->lock);
    free(mem);
}

int32_t
wire_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem, void *buffer,
    uint64_t *size_p)
{
    struct serial serial = {
        SERIAL_MAGIC, mem->access, mem->owner, mem->id, mem->length};
    int32_t code = wire_size_settle(buffer, size_p, sizeof serial);

    if (code == NA_PLUGIN_OK && buffer)
        memcpy(buffer, &serial, sizeof serial);
    return code;
}

int32_t
wire_mem_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_mem **mem_p)
{
    struct serial serial = {0};
    na_plugin_mem *mem;

    if (wire_breaks(cls, WIRE_mem_overreads))
        length = sizeof serial;
    if (wire_breaks(cls, WIRE_output_on_error))
        *mem_p = NULL;

    if (length >= sizeof serial)
        memcpy(&serial, buffer, sizeof serial);
    if (serial.magic != SERIAL_MAGIC || serial.access == 0 ||
        (serial.access & ~ACCESS) != 0 || serial.length == 0) {
        WIRE_LOG(cls->host, WARNING, "%llu bytes are no registration",
            (unsigned long long) length);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    mem = calloc(1, sizeof *mem);
    if (!mem)
        return NA_PLUGIN_E_NOMEM;
    mem->remote = true;
    mem->owner = serial.owner;
    mem->id = serial.id;
    mem->length = serial.length;
    mem->access = serial.access;
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

void
wire_mem_free(na_plugin_class *cls, na_plugin_mem *mem)
{
    free(mem);
}

static bool
within(uint64_t offset, uint64_t length, uint64_t whole)
{
    return offset <= whole && length <= whole - offset;
}

/* What variants check here instead of the range. */
static int32_t
checked_by_origin(const na_plugin_class *cls, enum wire_kind kind,
    const na_plugin_mem *remote, uint64_t offset, uint64_t length)
{
    if (wire_breaks(cls, WIRE_range_by_origin) &&
        !within(offset, length, remote->length))
        return NA_PLUGIN_E_INVALID_ARG;
    if ((wire_breaks(cls, WIRE_write_by_origin) && kind == WIRE_PUT &&
            !(remote->access & NA_PLUGIN_MEM_WRITE)) ||
        (wire_breaks(cls, WIRE_read_by_origin) && kind == WIRE_GET &&
            !(remote->access & NA_PLUGIN_MEM_READ)))
        return NA_PLUGIN_E_PERMISSION;
    return NA_PLUGIN_OK;
}

static int32_t
submit(na_plugin_ctx *ctx, struct wire_op *op, enum wire_kind kind,
    na_plugin_mem *local, uint64_t local_offset, na_plugin_mem *remote,
    uint64_t remote_offset, uint64_t length, na_plugin_addr *peer,
    uint32_t flags)
{
    na_plugin_class *cls = ctx->cls;
    uint32_t access =
        kind == WIRE_PUT ? NA_PLUGIN_MEM_READ : NA_PLUGIN_MEM_WRITE;
    int32_t code;

    if (wire_breaks(cls, WIRE_flags_refuse_hints) && flags != 0)
        return NA_PLUGIN_E_INVALID_ARG;
    if (local->remote || !remote->remote ||
        (wire_breaks(cls, WIRE_zero_length_refused) && length == 0) ||
        (wire_breaks(cls, WIRE_mem_old_contexts) &&
            !(local->contexts >> ctx->id & 1)) ||
        !within(local_offset, length, local->length)) {
        WIRE_LOG(cls->host, ERROR,
            "%llu bytes from %llu on are not in local memory",
            (unsigned long long) length, (unsigned long long) local_offset);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (!(local->access & access)) {
        WIRE_LOG(cls->host, ERROR, "local memory may not be used so");
        return NA_PLUGIN_E_PERMISSION;
    }
    code = checked_by_origin(cls, kind, remote, remote_offset, length);
    if (code != NA_PLUGIN_OK)
        return code;
    pthread_mutex_lock(&cls->lock);
    wire_op_begin(op, ctx, kind);
    op->peer = peer;
    op->length = length;

    op->local = local;
    op->remote = remote;
    op->local_offset = local_offset;
    op->remote_offset = remote_offset;
    code = wire_op_submit(op);
    pthread_mutex_unlock(&cls->lock);
    return code;
}

int32_t
wire_put(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    return submit(ctx, op, WIRE_PUT, local, local_offset, remote, remote_offset,
        length, peer, flags);
}

int32_t
wire_get(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    return submit(ctx, op, WIRE_GET, local, local_offset, remote, remote_offset,
        length, peer, flags);
}

/* Lists the contiguous parts of a valid range. Returns their number. */
static uint32_t
gather(const na_plugin_mem *mem, uint64_t offset, uint64_t length,
    struct iovec vector[WIRE_SEGMENTS])
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < mem->count && length > 0; i++) {
        const na_plugin_segment *segment = &mem->segments[i];
        uint64_t piece;

        if (offset >= segment->length) {
            offset -= segment->length;
            continue;
        }
        piece = segment->length - offset;
        piece = piece < length ? piece : length;
        vector[count++] =
            (struct iovec){(char *) segment->base + offset, (size_t) piece};
        length -= piece;
        offset = 0;
    }
    return count;
}

void
wire_mem_write(const na_plugin_mem *mem, uint64_t offset,
    const unsigned char *bytes, uint64_t length)
{
    struct iovec vector[WIRE_SEGMENTS];
    uint32_t count = gather(mem, offset, length, vector);

    for (uint32_t i = 0; i < count; i++) {
        memcpy(vector[i].iov_base, bytes, vector[i].iov_len);
        bytes += vector[i].iov_len;
    }
}

static uint32_t
chunk(uint64_t left)
{
    return left < WIRE_CHUNK ? (uint32_t) left : WIRE_CHUNK;
}

int
wire_rma_push(struct wire_op *op)
{
    struct wire_conn *conn = op->conn;
    bool put = op->kind == WIRE_PUT;
    struct wire_record record = {
        .type = put ? WIRE_PUT_DATA : WIRE_GET_ASK,
        .length = put ? chunk(op->length - op->done) : 0,
        .tag = op->id,
        .owner = op->remote->owner,
        .mem = op->remote->id,
        .offset = op->remote_offset,
        .total = op->length,
        .at = op->done,
    };
    struct iovec vector[WIRE_SEGMENTS];
    uint32_t count =
        gather(op->local, op->local_offset + op->done, record.length, vector);
    int error = wire_conn_send(conn, &record, vector, count);

    if (error != 0)
        return error;
    op->deadline_ns = UINT64_MAX; /* it has started */
    op->done += record.length;
    wire_op_move(
        op, !put || op->done == op->length ? &conn->awaited : &conn->out);
    return 0;
}

/* Checks whether the peer may access own memory, and returns it. */
static int32_t
check_access(na_plugin_class *cls, const struct wire_record *record,
    uint32_t access, na_plugin_mem **mem_p)
{
    na_plugin_mem *mem;

    TAILQ_FOREACH (mem, &cls->mems, next)
        if (mem->id == record->mem)
            break;
    if (!mem || record->owner != cls->instance)
        return NA_PLUGIN_E_PERMISSION;
    if (!(mem->access & access) && !wire_breaks(cls, WIRE_access_unchecked) &&
        !wire_breaks(cls, access == NA_PLUGIN_MEM_WRITE ? WIRE_write_by_origin
                                                        : WIRE_read_by_origin))
        return NA_PLUGIN_E_PERMISSION;
    if (!within(record->offset, record->total, mem->length) &&
        !wire_breaks(cls, WIRE_range_by_origin) &&
        !(wire_breaks(cls, WIRE_put_out_of_range) &&
            access == NA_PLUGIN_MEM_WRITE))
        return NA_PLUGIN_E_INVALID_ARG;
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

/* Records an answer that the peer has to get. Returns false if it has too many
 * pending. */
static bool
owe(struct wire_conn *conn, bool put, int32_t status)
{
    uint32_t last = (conn->serve_first + conn->serve_count) % WIRE_RMA_MAX;
    struct wire_serve *serve = &conn->serves[last];

    if (conn->serve_count == WIRE_RMA_MAX)
        return false;
    conn->serve_count++;
    serve->put = put;
    serve->record = conn->cls->in;
    serve->record.type = put ? WIRE_PUT_DONE : WIRE_GET_DATA;
    serve->record.status = status;
    serve->record.at = 0;
    serve->record.length = 0;
    return true;
}

/* Round robin: after one fragment it is moved behind the others. */
int
wire_serve_push(struct wire_conn *conn)
{
    struct wire_serve serve = conn->serves[conn->serve_first];
    struct wire_record *record = &serve.record;
    struct iovec vector[WIRE_SEGMENTS];
    uint32_t count = 0;
    na_plugin_mem *mem;
    int error;

    if (!serve.put && record->status == NA_PLUGIN_OK)
        record->status =
            check_access(conn->cls, record, NA_PLUGIN_MEM_READ, &mem);
    record->length = 0;
    if (!serve.put && record->status == NA_PLUGIN_OK) {
        record->length = chunk(record->total - record->at);
        count =
            gather(mem, record->offset + record->at, record->length, vector);
    }
    error = wire_conn_send(conn, record, vector, count);
    if (error == EFAULT) {
        conn->serves[conn->serve_first].record.status = NA_PLUGIN_E_FAULT;
        return 0;
    }
    if (error != 0)
        return error;
    conn->serve_first = (conn->serve_first + 1) % WIRE_RMA_MAX;
    conn->serve_count--;
    record->at += record->length;
    if (!serve.put && record->status == NA_PLUGIN_OK &&
        record->at < record->total) {
        uint32_t last =
            (conn->serve_first + conn->serve_count++) % WIRE_RMA_MAX;

        conn->serves[last] = serve;
    }
    return 0;
}

static bool
put_arrived(struct wire_conn *conn)
{
    na_plugin_class *cls = conn->cls;
    const struct wire_record *record = &cls->in;
    na_plugin_mem *mem;
    int32_t status = check_access(cls, record, NA_PLUGIN_MEM_WRITE, &mem);
    bool last;

    if (!within(record->at, record->length, record->total))
        return false;
    last = record->at + record->length == record->total;
    if (status == NA_PLUGIN_OK &&
        !(last && wire_breaks(cls, WIRE_put_visible_late) &&
            wire_violation_stash(cls, mem, record->offset + record->at,
                cls->in_bytes, record->length)))
        wire_mem_write(
            mem, record->offset + record->at, cls->in_bytes, record->length);
    return !last || owe(conn, true, status);
}

/* Handles an answer to a put or get, which may have been cancelled. */
static bool
answer_arrived(struct wire_conn *conn)
{
    na_plugin_class *cls = conn->cls;
    const struct wire_record *record = &cls->in;
    bool get = record->type == WIRE_GET_DATA;
    int32_t status = record->status;
    struct wire_op *op;

    TAILQ_FOREACH (op, &conn->awaited, link)
        if (op->id == record->tag)
            break;
    if (status > 0 || status < NA_PLUGIN_E_HOSTFIREWALL ||
        !within(record->at, record->length, record->total) ||
        (op && (get != (op->kind == WIRE_GET) || record->total != op->length)))
        return false;
    if (get && op && status == NA_PLUGIN_OK) {
        if (record->at != op->done)
            return false;
        if (!(record->at + record->length == record->total &&
                wire_breaks(cls, WIRE_get_ends_early) &&
                wire_violation_stash(cls, op->local,
                    op->local_offset + op->done, cls->in_bytes,
                    record->length)))
            wire_mem_write(op->local, op->local_offset + op->done,
                cls->in_bytes, record->length);
        op->done += record->length;
    }
    if (get && status == NA_PLUGIN_OK &&
        record->at + record->length < record->total)
        return true;
    if (conn->rma_out == 0)
        return false;
    conn->rma_out--;
    wire_conn_unblock(conn, WIRE_CONTEXTS);
    if (op)
        wire_op_end(op, status);
    return true;
}

bool
wire_rma_arrived(struct wire_conn *conn)
{
    na_plugin_mem *mem;

    switch (conn->cls->in.type) {
    case WIRE_PUT_DATA:
        return put_arrived(conn);
    case WIRE_GET_ASK:
        return owe(conn, false,
            check_access(conn->cls, &conn->cls->in, NA_PLUGIN_MEM_READ, &mem));
    default:
        return answer_arrived(conn);
    }
}
