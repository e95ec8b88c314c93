/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, and puts and gets: one datagram after the other to the class that owns
 * the memory, each with an answer. */
#include "frozen.h"

/* A registration as a peer gets it. */
struct remote {
    uint32_t magic;
    uint32_t access;
    uint64_t key;
    uint64_t length;
};
#define REMOTE_MAGIC 0x4D7A7246U
#define BOTH (NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE)

int32_t
frozen_mem_register(
    na_plugin_class *cls, const na_plugin_mem_info *info, na_plugin_mem **mem_p)
{
    uint64_t length = 0;

    if (info->size < NA_PLUGIN_MEM_INFO_SIZE_1_0 ||
        (info->flags & NA_PLUGIN_FLAGS_DEMANDS) != 0 || info->count == 0 ||
        info->count > SEGMENTS || info->access == 0 ||
        (info->access & ~BOTH) != 0)
        return NA_PLUGIN_E_INVALID_ARG;
    if (info->mem_type != NA_PLUGIN_MEM_HOST)
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    na_plugin_mem *mem = sys_alloc(sizeof(*mem), 0);
    if (mem == NULL)
        return NA_PLUGIN_E_NOMEM;
    for (uint64_t i = 0; i < info->count; i++) {
        mem->segments[i] = info->segments[i];
        length += info->segments[i].length;
    }
    mem->count = (uint32_t) info->count;
    mem->access = info->access;
    mem->length = length;
    mem->key = sys_random();
    sys_lock(&cls->lock);
    mem->next = cls->mems;
    cls->mems = mem;
    sys_unlock(&cls->lock);
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

void
frozen_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem)
{
    na_plugin_mem **at = &cls->mems;

    sys_lock(&cls->lock);
    while (*at != mem)
        at = &(*at)->next;
    *at = mem->next;
    sys_unlock(&cls->lock);
    sys_free(mem, 0);
}

int32_t
frozen_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem,
    void *buffer, uint64_t *size_p)
{
    const struct remote remote = {
        REMOTE_MAGIC, mem->access, mem->key, mem->length};
    uint64_t room = *size_p;

    (void) cls;
    *size_p = sizeof(remote);
    if (buffer == NULL)
        return NA_PLUGIN_OK;
    if (room < sizeof(remote))
        return NA_PLUGIN_E_OVERFLOW;
    sys_copy(buffer, &remote, sizeof(remote));
    return NA_PLUGIN_OK;
}

int32_t
frozen_mem_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_mem **mem_p)
{
    struct remote remote;

    (void) cls;
    if (length < sizeof(remote))
        return NA_PLUGIN_E_OVERFLOW;
    sys_copy(&remote, buffer, sizeof(remote));
    if (remote.magic != REMOTE_MAGIC || remote.access == 0 ||
        (remote.access & ~BOTH) != 0)
        return NA_PLUGIN_E_PROTOCOL_ERROR;
    na_plugin_mem *mem = sys_alloc(sizeof(*mem), 0);
    if (mem == NULL)
        return NA_PLUGIN_E_NOMEM;
    mem->access = remote.access;
    mem->key = remote.key;
    mem->length = remote.length;
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

void
frozen_mem_remote_free(na_plugin_class *cls, na_plugin_mem *mem)
{
    (void) cls;
    sys_free(mem, 0);
}

/* Copies between a registration and a buffer; in: into the registration. */
static void
copy(const na_plugin_mem *mem, uint64_t offset, unsigned char *buffer,
    uint64_t length, int in)
{
    for (uint32_t i = 0; i < mem->count && length > 0; i++) {
        const na_plugin_segment *segment = &mem->segments[i];
        if (offset >= segment->length) {
            offset -= segment->length;
            continue;
        }
        unsigned char *at = (unsigned char *) segment->base + offset;
        uint64_t part = segment->length - offset;
        if (part > length)
            part = length;
        if (in)
            sys_copy(at, buffer, part);
        else
            sys_copy(buffer, at, part);
        buffer += part;
        length -= part;
        offset = 0;
    }
}

static int32_t
permits(
    const na_plugin_mem *mem, uint64_t offset, uint64_t length, uint32_t access)
{
    if (offset > mem->length || length > mem->length - offset)
        return NA_PLUGIN_E_INVALID_ARG;
    return (mem->access & access) != 0 ? NA_PLUGIN_OK : NA_PLUGIN_E_PERMISSION;
}

/* Locked. Sends the next datagram: 0, or an error of the ABI; without room the
 * operation waits. */
static int32_t
advance(na_plugin_ctx *ctx, struct op *op)
{
    na_plugin_class *cls = ctx->cls;
    struct sys_addr to;
    uint32_t to_length = socket_name(&to, op->peer->name, 'c', 0);
    uint64_t left = op->length - op->done;
    uint64_t length = left < FRAGMENT ? left : FRAGMENT;
    struct packet packet = {.magic = PACKET_MAGIC,
        .kind = (uint16_t) op->kind,
        .tag = op->tag,
        .key = op->remote->key,
        .offset = op->remote_offset + op->done,
        .length = length};

    op->part = length;
    op->waits = 1;
    if (ctx->rma_out == RMA_OUT)
        return 0;
    if (op->kind == PUT)
        copy(op->local, op->local_offset + op->done, cls->data, length, 0);
    int32_t ret = socket_send(ctx->expected, &to, to_length, &packet, cls->data,
        op->kind == PUT ? length : 0);
    op->waits = ret != 0;
    ctx->rma_out += ret == 0;
    cls->datagrams += ret == 0;
    if (ret == 0 || ret == E_AGAIN)
        return 0;
    return ret == E_CONNREFUSED || ret == E_PIPE ? NA_PLUGIN_E_HOSTUNREACH
                                                 : NA_PLUGIN_E_IO_ERROR;
}

static int32_t
submit(na_plugin_ctx *ctx, struct op *op, const struct op *wanted)
{
    uint32_t here =
        wanted->kind == PUT ? NA_PLUGIN_MEM_READ : NA_PLUGIN_MEM_WRITE;
    int32_t ret =
        permits(wanted->local, wanted->local_offset, wanted->length, here);

    if (ret == NA_PLUGIN_OK)
        ret = permits(wanted->remote, wanted->remote_offset, wanted->length,
            here == NA_PLUGIN_MEM_READ ? NA_PLUGIN_MEM_WRITE
                                       : NA_PLUGIN_MEM_READ);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (wanted->length == 0)
        return NA_PLUGIN_DONE;
    sys_lock(&ctx->cls->lock);
    *op = *wanted;
    op->tag = ++ctx->next_id;
    ret = advance(ctx, op);
    if (ret == NA_PLUGIN_OK)
        list_add(&ctx->rma, op);
    frozen_unlock(ctx);
    return ret;
}

int32_t
frozen_put(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    struct op wanted = {.kind = PUT,
        .peer = peer,
        .peer_ctx = peer_ctx,
        .local = local,
        .local_offset = local_offset,
        .remote = remote,
        .remote_offset = remote_offset,
        .length = length};

    (void) flags;
    return submit(ctx, op, &wanted);
}

int32_t
frozen_get(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    struct op wanted = {.kind = GET,
        .peer = peer,
        .peer_ctx = peer_ctx,
        .local = local,
        .local_offset = local_offset,
        .remote = remote,
        .remote_offset = remote_offset,
        .length = length};

    (void) flags;
    return submit(ctx, op, &wanted);
}

static void
end(na_plugin_ctx *ctx, struct op *op, int32_t status)
{
    list_remove(&ctx->rma, op);
    op_end(ctx, op, status);
}

void
rma_retry(na_plugin_ctx *ctx)
{
    struct op *next;

    for (struct op *op = ctx->rma.first; op != NULL; op = next) {
        next = op->next;
        int32_t ret = op->waits ? advance(ctx, op) : 0;
        if (ret != 0)
            end(ctx, op, ret);
    }
}

void
rma_answered(na_plugin_ctx *ctx, const char *name, const struct packet *packet,
    const void *data, uint64_t length)
{
    struct op *op = ctx->rma.first;

    while (op != NULL &&
           (op->tag != packet->tag || !sys_equal(op->peer->name, name)))
        op = op->next;
    if (op == NULL)
        return; /* canceled */
    int32_t status = packet->status;
    if (status > 0 || status < NA_PLUGIN_E_HOSTFIREWALL || op->waits ||
        (status == 0 && length != (op->kind == GET ? op->part : 0)))
        status = NA_PLUGIN_E_PROTOCOL_ERROR;
    if (status == 0) {
        ctx->rma_out--;
        op->waits = 1;
        if (op->kind == GET)
            copy(op->local, op->local_offset + op->done, (unsigned char *) data,
                length, 1);
        op->done += op->part;
        if (op->done < op->length) {
            status = advance(ctx, op);
            if (status == 0)
                return;
        }
    }
    end(ctx, op, status);
}

/* Locked. An answer that finds no room is kept; beyond a number of them the
 * oldest is lost, for its receiver does not take any. */
static void
answer(na_plugin_class *cls, struct sys_addr *to, uint32_t to_length,
    const struct packet *packet, uint64_t length)
{
    struct answer **at = &cls->answers;

    if (socket_send(cls->socket, to, to_length, packet, cls->data, length) !=
        E_AGAIN)
        return;
    struct answer *made = sys_alloc(sizeof(*made) + length, 0);
    if (made == NULL)
        return;
    made->to = *to;
    made->to_length = to_length;
    made->packet = *packet;
    made->length = length;
    sys_copy(made->data, cls->data, length);
    while (*at != NULL)
        at = &(*at)->next;
    *at = made;
    if (++cls->answer_count <= ANSWERS_MAX)
        return;
    struct answer *oldest = cls->answers;
    cls->answers = oldest->next;
    cls->answer_count--;
    sys_free(oldest, 0);
}

static void
retry_answers(na_plugin_class *cls)
{
    struct answer **at = &cls->answers;

    while (*at != NULL) {
        struct answer *made = *at;
        if (socket_send(cls->socket, &made->to, made->to_length, &made->packet,
                made->data, made->length) == E_AGAIN) {
            at = &made->next;
            continue;
        }
        *at = made->next;
        cls->answer_count--;
        sys_free(made, 0);
    }
}

/* What a peer asks for, checked by whose memory it is. length: bytes of data that
 * came; *back: bytes that the answer has. */
static int32_t
serve(na_plugin_class *cls, const struct packet *packet, uint64_t length,
    uint64_t *back)
{
    const na_plugin_mem *mem = cls->mems;
    int put = packet->kind == PUT;

    if ((!put && packet->kind != GET) || packet->length > FRAGMENT ||
        (put && packet->length != length))
        return NA_PLUGIN_E_PROTOCOL_ERROR;
    while (mem != NULL && mem->key != packet->key)
        mem = mem->next;
    if (mem == NULL)
        return NA_PLUGIN_E_INVALID_ARG;
    int32_t ret = permits(mem, packet->offset, packet->length,
        put ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ);
    if (ret != NA_PLUGIN_OK)
        return ret;
    copy(mem, packet->offset, cls->data, packet->length, put);
    *back = put ? 0 : packet->length;
    return NA_PLUGIN_OK;
}

void
rma_serve(na_plugin_class *cls)
{
    struct packet *packet = &cls->packet;
    struct sys_addr from;
    uint32_t from_length = 0;
    uint32_t ctx = 0;
    char name[NAME_SIZE];
    int truncated = 0;

    retry_answers(cls);
    for (int64_t length;
         (length = socket_receive(cls->socket, &from, &from_length, packet,
              cls->data, FRAGMENT, &truncated)) >= 0;) {
        uint64_t back = 0;
        if (socket_source(&from, from_length, name, &ctx) != 'e')
            continue;
        cls->datagrams++;
        packet->status = serve(cls, packet, (uint64_t) length, &back);
        packet->kind = ANSWER;
        packet->length = back;
        answer(cls, &from, from_length, packet, back);
    }
}

void
rma_drop_answers(na_plugin_class *cls)
{
    while (cls->answers != NULL) {
        struct answer *made = cls->answers;
        cls->answers = made->next;
        sys_free(made, 0);
    }
}
