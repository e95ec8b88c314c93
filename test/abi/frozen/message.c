/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending messages, and matching them with receives. */
#include "frozen.h"

static const unsigned char front[UNEXPECTED_HEADER] = "na-frozen 1.0";

int32_t
frozen_buf_init(
    na_plugin_class *cls, void *buffer, uint64_t length, uint32_t kind)
{
    uint64_t size =
        kind == NA_PLUGIN_MSG_UNEXPECTED ? UNEXPECTED_HEADER : EXPECTED_HEADER;

    (void) cls;
    if (length < size)
        return NA_PLUGIN_E_MSGSIZE;
    sys_copy(buffer, front, size);
    return NA_PLUGIN_OK;
}

/* Whether buf_init has been called for the buffer. */
static int
has_front(const unsigned char *buffer, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        if (buffer[i] != front[i])
            return 0;
    return 1;
}

/* Locked. 0, AGAIN of the kernel, or an error of the ABI. */
static int32_t
send_now(na_plugin_ctx *ctx, const struct op *op)
{
    na_plugin_class *cls = ctx->cls;
    struct sys_addr to;
    char which = op->kind == SEND_UNEXPECTED ? 'u' : 'e';
    uint32_t length = socket_name(&to, op->peer->name, which, op->peer_ctx);
    struct packet packet = {.magic = PACKET_MAGIC,
        .kind = (uint16_t) op->kind,
        .tag = op->tag,
        .length = op->length};
    int32_t ret =
        socket_send(ctx->expected, &to, length, &packet, op->data, op->length);

    if (ret == 0 || ret == E_AGAIN)
        return ret;
    if (ret == E_CONNREFUSED && socket_is_alive(cls, op->peer->name)) {
        frozen_log(cls->host, NA_PLUGIN_LOG_INFO, __LINE__,
            "a message for a context that is not there is lost: ",
            op->peer->name);
        return 0;
    }
    return ret == E_CONNREFUSED || ret == E_PIPE ? NA_PLUGIN_E_HOSTUNREACH
                                                 : NA_PLUGIN_E_IO_ERROR;
}

/* Whether a list has another one to the same socket. */
static int
is_waiting(const struct list *list, const struct op *op)
{
    for (const struct op *at = list->first; at != NULL; at = at->next)
        if (at->peer == op->peer && at->kind == op->kind &&
            at->peer_ctx == op->peer_ctx)
            return 1;
    return 0;
}

static int32_t
send_message(na_plugin_ctx *ctx, const struct op *wanted, struct op *op)
{
    uint64_t most =
        wanted->kind == SEND_UNEXPECTED ? UNEXPECTED_MAX : EXPECTED_MAX;
    uint64_t header =
        wanted->kind == SEND_UNEXPECTED ? UNEXPECTED_HEADER : EXPECTED_HEADER;
    int32_t ret = E_AGAIN;

    if (wanted->length > most)
        return NA_PLUGIN_E_MSGSIZE;
    if (wanted->tag > TAG_MAX || wanted->peer_ctx >= NA_PLUGIN_CONTEXTS_MAX ||
        wanted->length < header || !has_front(wanted->data, header))
        return NA_PLUGIN_E_INVALID_ARG;
    sys_lock(&ctx->cls->lock);
    if (wanted->peer_ctx >= CONTEXTS) {
        ret = 0; /* lost: no peer has it */
        frozen_log(ctx->cls->host, NA_PLUGIN_LOG_INFO, __LINE__,
            "a message for a context that is never there is lost: ",
            wanted->peer->name);
    } else if (!is_waiting(&ctx->sends, wanted)) {
        ret = send_now(ctx, wanted);
    }
    ctx->cls->messages += ret == 0;
    if (ret != E_AGAIN || ctx->cls->no_retry) {
        sys_unlock(&ctx->cls->lock);
        return ret == 0         ? NA_PLUGIN_DONE
               : ret == E_AGAIN ? NA_PLUGIN_E_AGAIN
                                : ret;
    }
    *op = *wanted;
    op->deadline = sys_now() + SEND_NS;
    list_add(&ctx->sends, op);
    frozen_unlock(ctx);
    return NA_PLUGIN_PENDING;
}

int32_t
frozen_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    struct op wanted = {.kind = SEND_UNEXPECTED,
        .peer = peer,
        .peer_ctx = peer_ctx,
        .tag = tag,
        .data = buffer,
        .length = length};

    (void) buffer_data;
    (void) flags;
    return send_message(ctx, &wanted, op);
}

int32_t
frozen_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    struct op wanted = {.kind = SEND_EXPECTED,
        .peer = peer,
        .peer_ctx = peer_ctx,
        .tag = tag,
        .data = buffer,
        .length = length};

    (void) buffer_data;
    (void) flags;
    return send_message(ctx, &wanted, op);
}

void
message_retry(na_plugin_ctx *ctx, uint64_t now)
{
    struct list again = {NULL, NULL};
    struct op *op;

    while ((op = list_take(&ctx->sends)) != NULL) {
        int32_t ret = is_waiting(&again, op) ? E_AGAIN : send_now(ctx, op);
        if (ret == E_AGAIN && now < op->deadline) {
            list_add(&again, op);
            continue;
        }
        ctx->cls->messages += ret == 0;
        op_end(ctx, op, ret == E_AGAIN ? NA_PLUGIN_E_HOSTUNREACH : ret);
    }
    ctx->sends = again;
}

static int32_t
receive(na_plugin_ctx *ctx, struct list *list, const struct op *wanted,
    struct op *op)
{
    sys_lock(&ctx->cls->lock);
    *op = *wanted;
    list_add(list, op);
    frozen_unlock(ctx);
    return NA_PLUGIN_PENDING;
}

int32_t
frozen_recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags)
{
    struct op wanted = {
        .kind = RECV_UNEXPECTED, .buffer = buffer, .length = length};

    (void) buffer_data;
    (void) flags;
    return receive(ctx, &ctx->unexpected_receives, &wanted, op);
}

int32_t
frozen_recv_multi(na_plugin_ctx *ctx, void *op, void *buffer, uint64_t length,
    void *buffer_data, uint32_t flags)
{
    struct op wanted = {.kind = RECV_MULTI, .buffer = buffer, .length = length};

    (void) buffer_data;
    (void) flags;
    if (length < UNEXPECTED_MAX)
        return NA_PLUGIN_E_INVALID_ARG;
    return receive(ctx, &ctx->unexpected_receives, &wanted, op);
}

/* Locked. */
static void
expected_ends(
    na_plugin_ctx *ctx, struct op *op, const void *data, uint64_t length)
{
    if (length > op->length) {
        op_end(ctx, op, NA_PLUGIN_E_MSGSIZE);
        return;
    }
    sys_copy(op->buffer, data, length);
    op->event = (na_plugin_event){.buffer = op->buffer,
        .length = length,
        .tag = op->tag,
        .flags = NA_PLUGIN_EVENT_MESSAGE};
    op_end(ctx, op, NA_PLUGIN_OK);
}

int32_t
frozen_recv_expected(na_plugin_ctx *ctx, void *op_part, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    struct op *op = op_part;
    struct kept **at;

    (void) buffer_data;
    (void) flags;
    if (tag > TAG_MAX || peer_ctx >= NA_PLUGIN_CONTEXTS_MAX)
        return NA_PLUGIN_E_INVALID_ARG;
    sys_lock(&ctx->cls->lock);
    *op = (struct op){.kind = RECV_EXPECTED,
        .peer = peer,
        .peer_ctx = peer_ctx,
        .tag = tag,
        .buffer = buffer,
        .length = length};
    for (at = &ctx->kept; *at != NULL; at = &(*at)->next)
        if ((*at)->tag == tag && (*at)->ctx == peer_ctx &&
            sys_equal((*at)->name, peer->name))
            break;
    struct kept *kept = *at;
    if (kept != NULL) {
        *at = kept->next;
        ctx->kept_count--;
        expected_ends(ctx, op, kept->data, kept->length);
        sys_free(kept, 0);
    } else {
        list_add(&ctx->expected_receives, op);
    }
    frozen_unlock(ctx);
    return NA_PLUGIN_PENDING;
}

static void
keep(na_plugin_ctx *ctx, const char *name, uint32_t from,
    const struct packet *packet, const void *data, uint64_t length)
{
    struct kept *kept = ctx->kept_count < ctx->cls->kept_max
                            ? sys_alloc(sizeof(*kept) + length, 0)
                            : NULL;
    struct kept **at = &ctx->kept;

    if (kept == NULL) {
        frozen_log(ctx->cls->host, NA_PLUGIN_LOG_INFO, __LINE__,
            "no room for an expected message of ", name);
        return;
    }
    sys_append(kept->name, sizeof(kept->name), name);
    kept->ctx = from;
    kept->tag = packet->tag;
    kept->length = length;
    sys_copy(kept->data, data, length);
    while (*at != NULL)
        at = &(*at)->next;
    *at = kept;
    ctx->kept_count++;
}

void
message_expected(na_plugin_ctx *ctx, const char *name, uint32_t from,
    const struct packet *packet, const void *data, uint64_t length)
{
    struct op *op = ctx->expected_receives.first;

    while (op != NULL && (op->tag != packet->tag || op->peer_ctx != from ||
                             !sys_equal(op->peer->name, name)))
        op = op->next;
    if (op == NULL) {
        keep(ctx, name, from, packet, data, length);
        return;
    }
    list_remove(&ctx->expected_receives, op);
    expected_ends(ctx, op, data, length);
}

/* Where the next message goes, and how long it may be. */
static void *
place(const struct op *op, uint64_t *room)
{
    *room = op->length - op->done;
    return op->buffer + op->done;
}

int
message_unexpected(na_plugin_ctx *ctx, na_plugin_event *event)
{
    struct op *op = ctx->unexpected_receives.first;
    struct sys_addr from;
    struct packet packet;
    uint32_t from_length = 0;
    uint32_t from_ctx = 0;
    uint64_t room = 0;
    char name[NAME_SIZE];
    int truncated = 0;

    if (op == NULL)
        return 0;
    void *buffer = place(op, &room);
    int64_t length;
    do {
        length = socket_receive(ctx->unexpected, &from, &from_length, &packet,
            buffer, room, &truncated);
        if (length < 0)
            return 0;
    } while (socket_source(&from, from_length, name, &from_ctx) != 'e' ||
             packet.kind != SEND_UNEXPECTED ||
             (length < UNEXPECTED_HEADER && !truncated));
    na_plugin_addr *source = truncated ? NULL : frozen_addr(ctx->cls, name);
    ctx->cls->messages++;
    *event = (na_plugin_event){.op = op};
    if (source == NULL) {
        event->status = truncated ? NA_PLUGIN_E_MSGSIZE : NA_PLUGIN_E_NOMEM;
    } else {
        event->buffer = buffer;
        event->length = (uint64_t) length;
        event->source = source;
        event->tag = packet.tag;
        event->flags = NA_PLUGIN_EVENT_MESSAGE;
        op->done += (uint64_t) length;
    }
    if (op->kind == RECV_MULTI && op->length - op->done >= UNEXPECTED_MAX)
        event->flags |= NA_PLUGIN_EVENT_MORE;
    else
        list_remove(&ctx->unexpected_receives, op);
    return 1;
}

void
message_drop_kept(na_plugin_ctx *ctx)
{
    while (ctx->kept != NULL) {
        struct kept *kept = ctx->kept;
        ctx->kept = kept->next;
        sys_free(kept, 0);
    }
}
