/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts: progress, sleeping, canceling. */
#include "frozen.h"

#define EPOLL_CLOEXEC_FLAG 02000000
#define EPOLL_IN 1U
#define CTL_ADD 1
#define CTL_MOD 3

void
frozen_unlock(na_plugin_ctx *ctx)
{
    const na_plugin_host *host = ctx->cls->host;
    void *core_ctx = ctx->core_ctx;
    uint32_t armed = ctx->armed;

    sys_unlock(&ctx->cls->lock);
    if (armed)
        host->wake(host, core_ctx);
}

static int
control(const na_plugin_ctx *ctx, int what, int32_t fd, uint32_t events)
{
    struct sys_epoll event = {events, 0};

    return CALL4(SYS_EPOLL_CTL, ctx->epoll, what, fd, &event) == 0;
}

static void
close_context(na_plugin_ctx *ctx)
{
    const int32_t sockets[] = {ctx->unexpected, ctx->expected, ctx->epoll};

    for (uint32_t i = 0; i < 3; i++)
        if (sockets[i] >= 0)
            CALL1(SYS_CLOSE, sockets[i]);
    message_drop_kept(ctx);
    sys_free(ctx, 0);
}

int32_t
frozen_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    if (id >= CONTEXTS)
        return NA_PLUGIN_E_OVERFLOW;
    if (cls->contexts[id] != NULL)
        return NA_PLUGIN_E_EXIST;
    na_plugin_ctx *ctx = sys_alloc(sizeof(*ctx), 0);
    if (ctx == NULL)
        return NA_PLUGIN_E_NOMEM;
    ctx->cls = cls;
    ctx->core_ctx = core_ctx;
    ctx->id = id;
    ctx->unexpected = socket_open(cls->self->name, 'u', id);
    ctx->expected = socket_open(cls->self->name, 'e', id);
    ctx->epoll = (int32_t) CALL1(SYS_EPOLL_CREATE1, EPOLL_CLOEXEC_FLAG);
    if (ctx->unexpected < 0 || ctx->expected < 0 || ctx->epoll < 0 ||
        !control(ctx, CTL_ADD, ctx->unexpected, 0) ||
        !control(ctx, CTL_ADD, ctx->expected, EPOLL_IN) ||
        !control(ctx, CTL_ADD, cls->socket, EPOLL_IN)) {
        frozen_log(cls->host, NA_PLUGIN_LOG_ERROR, __LINE__,
            "no sockets for a context", "");
        close_context(ctx);
        return NA_PLUGIN_E_NOMEM;
    }
    sys_lock(&cls->lock);
    cls->contexts[id] = ctx;
    sys_unlock(&cls->lock);
    *ctx_p = ctx;
    return NA_PLUGIN_OK;
}

void
frozen_ctx_destroy(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;

    sys_lock(&cls->lock);
    cls->contexts[ctx->id] = NULL;
    sys_unlock(&cls->lock);
    close_context(ctx);
}

/* Locked. Ends what refers to a peer: of one that is gone, or of this one. */
static void
end_of(na_plugin_ctx *ctx, struct list *list, const na_plugin_addr *peer)
{
    struct op *next;

    for (struct op *op = list->first; op != NULL; op = next) {
        next = op->next;
        if (peer != NULL ? op->peer != peer
                         : socket_is_alive(ctx->cls, op->peer->name))
            continue;
        list_remove(list, op);
        op_end(ctx, op, NA_PLUGIN_E_HOSTUNREACH);
    }
}

void
frozen_addr_forget(na_plugin_class *cls, na_plugin_addr *addr)
{
    void *wake[CONTEXTS] = {NULL};

    sys_lock(&cls->lock);
    for (uint32_t i = 0; i < CONTEXTS; i++) {
        na_plugin_ctx *ctx = cls->contexts[i];
        if (ctx == NULL)
            continue;
        end_of(ctx, &ctx->sends, addr);
        end_of(ctx, &ctx->expected_receives, addr);
        end_of(ctx, &ctx->rma, addr);
        wake[i] = ctx->core_ctx;
    }
    sys_unlock(&cls->lock);
    for (uint32_t i = 0; i < CONTEXTS; i++)
        if (wake[i] != NULL)
            cls->host->wake(cls->host, wake[i]);
}

/* Locked. All that has come on the socket that is always read. */
static void
take(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    struct packet *packet = &cls->packet;
    struct sys_addr from;
    uint32_t from_length = 0;
    uint32_t number = 0;
    char name[NAME_SIZE];
    int truncated = 0;

    for (int64_t length;
         (length = socket_receive(ctx->expected, &from, &from_length, packet,
              cls->data, sizeof(cls->data), &truncated)) >= 0;) {
        int which = socket_source(&from, from_length, name, &number);
        if (which == 'c' && packet->kind == ANSWER)
            rma_answered(ctx, name, packet, cls->data, (uint64_t) length);
        else if (which == 'e' && packet->kind == SEND_EXPECTED && !truncated &&
                 length >= EXPECTED_HEADER && length <= EXPECTED_MAX)
            message_expected(
                ctx, name, number, packet, cls->data, (uint64_t) length);
    }
}

/* Locked. Unexpected messages are of interest while there is a receive. */
static void
watch(na_plugin_ctx *ctx)
{
    uint32_t wanted = ctx->unexpected_receives.first != NULL;

    if (ctx->watching != wanted)
        control(ctx, CTL_MOD, ctx->unexpected, wanted ? EPOLL_IN : 0);
    ctx->watching = wanted;
}

static int
awaits_peer(const na_plugin_ctx *ctx)
{
    return ctx->rma.first != NULL || ctx->expected_receives.first != NULL;
}

static int
retries(const na_plugin_ctx *ctx)
{
    for (const struct op *op = ctx->rma.first; op != NULL; op = op->next)
        if (op->waits)
            return 1;
    return ctx->sends.first != NULL || ctx->cls->answers != NULL;
}

int32_t
frozen_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    uint64_t now = sys_now();
    int32_t count = 0;
    struct op *op;

    sys_lock(&ctx->cls->lock);
    ctx->armed = 0;
    message_retry(ctx, now);
    rma_serve(ctx->cls);
    take(ctx);
    rma_retry(ctx);
    if (awaits_peer(ctx) && now - ctx->probe_time >= PROBE_NS) {
        ctx->probe_time = now;
        end_of(ctx, &ctx->expected_receives, NULL);
        end_of(ctx, &ctx->rma, NULL);
    }
    while ((uint32_t) count < max && (op = list_take(&ctx->ended)) != NULL)
        events[count++] = op->event;
    while ((uint32_t) count < max && message_unexpected(ctx, &events[count]))
        count++;
    watch(ctx);
    sys_unlock(&ctx->cls->lock);
    return count;
}

int32_t
frozen_cancel(na_plugin_ctx *ctx, void *op)
{
    struct list *lists[] = {&ctx->sends, &ctx->unexpected_receives,
        &ctx->expected_receives, &ctx->rma};

    sys_lock(&ctx->cls->lock);
    for (uint32_t i = 0; i < 4; i++) {
        if (!list_remove(lists[i], op))
            continue;
        op_end(ctx, op, NA_PLUGIN_E_CANCELED);
        break;
    }
    frozen_unlock(ctx);
    return NA_PLUGIN_OK;
}

int32_t
frozen_fd(na_plugin_ctx *ctx)
{
    return ctx->epoll;
}

int32_t
frozen_arm(na_plugin_ctx *ctx, uint64_t *sleep_ns)
{
    int32_t ret = NA_PLUGIN_OK;

    sys_lock(&ctx->cls->lock);
    watch(ctx);
    if (ctx->ended.first != NULL) {
        ret = NA_PLUGIN_DONE;
    } else {
        ctx->armed = 1;
        *sleep_ns = retries(ctx)       ? RETRY_NS
                    : awaits_peer(ctx) ? PROBE_NS
                                       : UINT64_MAX;
    }
    sys_unlock(&ctx->cls->lock);
    return ret;
}
