/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending: injected when it is short, else a copy that libfabric gets when it
 * has room; in order for each peer. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "address.h"
#include "gate.h"
#include "header.h"
#include "library.h"
#include "liveness.h"
#include "match.h"
#include "ofi.h"
#include "op.h"
#include "peer.h"
#include "pool.h"
#include "route.h"
#include "send.h"
#include "work.h"

#define INJECT_ROW 64U /* injected messages without one that is waited for */

static void
tx_free(struct ofi_endpoint *ep, struct ofi_tx *tx)
{
    struct ofi_peer *peer = tx->peer;

    if (tx->flush)
        ep->flushes--;
    ofi_pool_tx_free(tx);
    peer->refs--;
}

/* Ends the operation of a message, if there is one. */
static void
end_op(struct ofi_tx *tx, int32_t status)
{
    struct ofi_op *op = tx->op;

    if (op == NULL)
        return;
    tx->op = NULL;
    tp_list_remove(&op->ctx->sends, &tx->by_ctx);
    ofi_op_finish(op, status);
}

/* What a class that closes waits for: that it has left, and with it all before
 * it. Its receiver may not poll for long. */
static ssize_t
submit_flush(struct ofi_endpoint *ep, struct ofi_tx *tx)
{
    const struct iovec part = {tx->data, tx->length};
    const struct fi_msg message = {.msg_iov = &part,
        .desc = &tx->desc,
        .iov_count = 1,
        .addr = tx->peer->fi_addr,
        .context = &tx->work.fi};

    return fi_sendmsg(
        ep->fep, &message, FI_COMPLETION | ep->cls->conduct.flush_flags);
}

/* Why a message failed. */
static int
cause_of(const struct ofi_endpoint *ep, int error)
{
    return error == ep->cls->conduct.unreachable && error != 0 ? EHOSTUNREACH
                                                               : error;
}

/* Submits one to libfabric. */
static int
submit(struct ofi_endpoint *ep, struct ofi_tx *tx)
{
    struct ofi_peer *peer = tx->peer;

    if (!ofi_gate_enter(ep, peer))
        return FI_EAGAIN;
    ssize_t ret = tx->flush && ep->cls->conduct.flush_flags != 0
                      ? submit_flush(ep, tx)
                      : fi_send(ep->fep, tx->data, tx->length, tx->desc,
                            peer->fi_addr, &tx->work.fi);
    ofi_gate_leave(ep);
    if (ret != 0)
        return cause_of(ep, (int) -ret);
    tp_list_append(&peer->flying, &tx->link);
    peer->connected = true;
    peer->injected = 0;
    ofi_peer_moved(ep, peer);
    return 0;
}

/* The first of a peer's queue, as long as libfabric takes them. */
void
ofi_send_retry(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    while (peer->queue.head != NULL) {
        struct ofi_tx *tx = TP_OBJECT(peer->queue.head, struct ofi_tx, link);
        tp_list_remove(&peer->queue, &tx->link);
        int error = submit(ep, tx);
        ep->counters.eagain_retries++;
        if (error == 0)
            continue;
        ofi_tx_push(&peer->queue, tx);
        if (error == FI_EAGAIN)
            return;
        if (ofi_error_is_loss(error))
            ofi_route_detour(ep, peer);
        ofi_liveness_lose(
            ep, peer, ofi_error_code(error), ofi_library.strerror(error));
        return;
    }
}

static void done(struct ofi_endpoint *ep, struct ofi_work *work,
    const struct fi_cq_data_entry *entry, int error);

static struct ofi_tx *
make(struct ofi_endpoint *ep, struct ofi_peer *peer,
    const struct ofi_header *header, const void *buffer, uint64_t length)
{
    struct ofi_tx *tx = ofi_pool_tx(ep, ep->header_length + (uint32_t) length);
    if (tx == NULL)
        return NULL;
    ofi_header_write(ep, tx->data, header);
    if (length != 0)
        memcpy(tx->data + ep->header_length, buffer, length);
    tx->length = ep->header_length + (uint32_t) length;
    tx->peer = peer;
    tx->work.done = done;
    peer->refs++;
    return tx;
}

/* Sends a message without an operation; most are not queued, as a queue of these
 * would only grow. */
static bool
send_control(struct ofi_endpoint *ep, struct ofi_peer *peer, uint8_t kind,
    uint32_t tag, const struct ofi_name *name)
{
    const struct ofi_header header = {.kind = kind,
        .source_ctx = (uint8_t) ep->index,
        .tag = tag,
        .target = peer->number};
    bool queue = kind == OFI_HEADER_PING;

    if (ofi_peer_reach(ep, peer) != NA_PLUGIN_OK || peer->queue.head != NULL)
        return false;
    struct ofi_tx *tx = make(ep, peer, &header,
        name != NULL ? name->bytes : NULL, name != NULL ? name->length : 0);
    if (tx == NULL)
        return false;
    tx->flush = kind == OFI_HEADER_FLUSH;
    ep->flushes += tx->flush;
    int error = submit(ep, tx);
    if (error == 0)
        return true;
    if (error == FI_EAGAIN && queue) {
        tp_list_append(&peer->queue, &tx->link);
        ofi_peer_stuck(ep, peer);
        return true;
    }
    tx_free(ep, tx);
    if (error != FI_EAGAIN)
        ofi_liveness_failed(ep, peer, error);
    return false;
}

void
ofi_send_ping(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    if (peer->flying.head != NULL)
        return; /* a ping on its way serves as well */
    if (send_control(ep, peer, OFI_HEADER_PING, ++ep->ping_number, NULL))
        ep->counters.pings++;
}

uint32_t
ofi_send_ask(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    uint32_t number = ++ep->ping_number;

    return send_control(ep, peer, OFI_HEADER_PING, number, NULL) ? number : 0;
}

bool
ofi_send_flush(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    return send_control(ep, peer, OFI_HEADER_FLUSH, 0, NULL);
}

void
ofi_send_pong(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    send_control(ep, peer, OFI_HEADER_PONG, peer->pinged, NULL);
}

void
ofi_send_endpoint(struct ofi_endpoint *ep, struct ofi_peer *peer,
    const struct ofi_endpoint *other)
{
    /* one at a time, if it does not read */
    if (peer->flying.head != NULL)
        return;
    send_control(ep, peer, OFI_HEADER_ENDPOINT, other->index, &other->own_name);
}

/* Put together on the stack, and not tracked afterwards. */
static inline int
inject(struct ofi_endpoint *ep, struct ofi_peer *peer,
    const struct ofi_header *header, const void *buffer, uint64_t length)
{
    alignas(8) unsigned char bytes[OFI_INJECT_LIMIT];

    ofi_header_write(ep, bytes, header);
    if (length != 0)
        memcpy(bytes + ep->header_length, buffer, length);
    if (!ofi_gate_enter(ep, peer))
        return FI_EAGAIN;
    ssize_t ret =
        fi_inject(ep->fep, bytes, ep->header_length + length, peer->fi_addr);
    ofi_gate_leave(ep);
    return (int) -ret;
}

/* One that is not injected: copied, and submitted or queued. */
static __attribute__((noinline)) int32_t
post_copy(na_plugin_ctx *ctx, struct ofi_op *op, struct ofi_peer *peer,
    const struct ofi_header *header, const void *buffer, uint64_t length)
{
    struct ofi_endpoint *ep = ctx->ep;
    bool waits = peer->queue.head != NULL;

    if (waits && ep->cls->no_retry)
        return NA_PLUGIN_E_AGAIN;

    if (!ofi_op_post(ctx, op, OFI_OP_SEND))
        return NA_PLUGIN_E_NOMEM;
    struct ofi_tx *tx = make(ep, peer, header, buffer, length);
    int error = tx == NULL ? FI_ENOMEM : waits ? FI_EAGAIN : submit(ep, tx);
    if (error != 0 && (error != FI_EAGAIN || ep->cls->no_retry)) {
        if (tx != NULL)
            tx_free(ep, tx);
        ofi_op_unpost(op);
        if (error != FI_EAGAIN && error != FI_ENOMEM)
            ofi_liveness_failed(ep, peer, error);
        return ofi_error_code(error);
    }
    if (error != 0) {
        ep->counters.queued++;
        tp_list_append(&peer->queue, &tx->link);
        ofi_peer_stuck(ep, peer);
    }
    op->tx = tx;
    tx->op = op;
    tp_list_append(&ctx->sends, &tx->by_ctx);
    /* its end may show on no descriptor */
    if (ctx->armed)
        tp_wake_set(&ctx->wake);
    return NA_PLUGIN_PENDING;
}

static inline int32_t
post(na_plugin_ctx *ctx, struct ofi_op *op, struct ofi_peer *peer,
    const struct ofi_header *header, const void *buffer, uint64_t length)
{
    struct ofi_endpoint *ep = ctx->ep;

    if (peer->queue.head != NULL || peer->flying.head != NULL ||
        peer->injected >= INJECT_ROW ||
        ep->header_length + length > ep->inject_size ||
        inject(ep, peer, header, buffer, length) != 0)
        return post_copy(ctx, op, peer, header, buffer, length);
    peer->injected++;
    peer->connected = true;
    ep->counters.injected++;
    return NA_PLUGIN_DONE;
}

static inline int32_t
send_to(na_plugin_ctx *ctx, struct ofi_op *op, const void *buffer,
    uint64_t length, struct ofi_peer *peer, struct ofi_header *header)
{
    /* an expected message is for this class only, not for its successor */
    if (header->kind == OFI_HEADER_EXPECTED)
        header->target = peer->number;
    int32_t ret = ofi_peer_reach(ctx->ep, peer);
    if (ret == NA_PLUGIN_OK)
        ret = ofi_liveness_present(ctx->ep, peer);
    return ret != NA_PLUGIN_OK ? ret
                               : post(ctx, op, peer, header, buffer, length);
}

/* By way of the peer's first endpoint, as the one of its context is closed. */
static __attribute__((noinline)) int32_t
send_first(na_plugin_ctx *ctx, struct ofi_op *op, const void *buffer,
    uint64_t length, na_plugin_addr *addr, struct ofi_header *header)
{
    struct ofi_peer *peer = ofi_route_to(ctx->ep, addr, 0);

    return peer != NULL ? send_to(ctx, op, buffer, length, peer, header)
                        : NA_PLUGIN_E_NOMEM;
}

static inline int32_t
send_out(na_plugin_ctx *ctx, struct ofi_op *op, const void *buffer,
    uint64_t length, na_plugin_addr *addr, struct ofi_header *header)
{
    struct ofi_endpoint *ep = ctx->ep;
    struct ofi_peer *peer = ofi_route_to(ep, addr, header->target_ctx);

    if (peer == NULL)
        return NA_PLUGIN_E_NOMEM;
    int32_t ret = send_to(ctx, op, buffer, length, peer, header);
    if (__builtin_expect(ret != NA_PLUGIN_E_HOSTUNREACH || !peer->stale, 1))
        return ret;
    return send_first(ctx, op, buffer, length, addr, header);
}

static __attribute__((noinline)) int32_t
send_message(na_plugin_ctx *ctx, struct ofi_op *op, const void *buffer,
    uint64_t length, na_plugin_addr *addr, struct ofi_header *header)
{
    struct ofi_endpoint *ep = ctx->ep;

    tp_mutex_take(&ep->lock);
    ep->counters.sent++;
    int32_t ret = addr->self ? ofi_match_self(ctx, op, buffer, length, header)
                             : send_out(ctx, op, buffer, length, addr, header);
    tp_mutex_drop(&ep->lock);
    return ret;
}

static inline int32_t
check_and_send(na_plugin_ctx *ctx, struct ofi_op *op, const void *buffer,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint8_t kind, uint64_t longest)
{
    struct ofi_header header = {.kind = kind,
        .source_ctx = (uint8_t) ctx->id,
        .target_ctx = (uint8_t) peer_ctx,
        .tag = (uint32_t) tag};

    if (__builtin_expect(
            length > longest || tag > OFI_TAG_MAX || peer_ctx >= OFI_CONTEXTS,
            0))
        return tp_match_refuse(
            ctx->ep->cls->host, length, longest, peer_ctx, OFI_CONTEXTS, tag);
    return send_message(ctx, op, buffer, length, peer, &header);
}

#define SEND(name, kind, longest)                                              \
    int32_t name(na_plugin_ctx *ctx, void *op, const void *buffer,             \
        uint64_t length, void *buffer_data, na_plugin_addr *peer,              \
        uint32_t peer_ctx, uint64_t tag, uint32_t flags)                       \
    {                                                                          \
        return check_and_send(ctx, op, buffer, length, peer, peer_ctx, tag,    \
            kind, ctx->ep->cls->longest);                                      \
    }

SEND(ofi_send_unexpected, OFI_HEADER_UNEXPECTED, max_unexpected)
SEND(ofi_send_expected, OFI_HEADER_EXPECTED, max_expected)

/* libfabric has completed one; error as in a completion, 0: success. */
static void
done(struct ofi_endpoint *ep, struct ofi_work *work,
    const struct fi_cq_data_entry *entry, int error)
{
    struct ofi_tx *tx = TP_OBJECT(work, struct ofi_tx, work);
    struct ofi_peer *peer = tx->peer;

    tp_list_remove(&peer->flying, &tx->link);
    if (error == 0) {
        end_op(tx, NA_PLUGIN_OK);
        tx_free(ep, tx);
        return;
    }
    error = cause_of(ep, error);
    end_op(tx, ofi_error_code(error));
    /* as many may follow as a peer had to be answered: what is under way with it
     * has ended with the first */
    if (tx->lost) {
        ep->counters.completion_errors++;
        tx_free(ep, tx);
        return;
    }
    tx_free(ep, tx);
    ofi_liveness_failed(ep, peer, error);
}

void
ofi_send_lose(struct ofi_endpoint *ep, struct ofi_peer *peer, int32_t status)
{
    while (peer->queue.head != NULL) {
        struct ofi_tx *tx =
            TP_OBJECT(tp_list_pop(&peer->queue), struct ofi_tx, link);
        end_op(tx, status);
        tx_free(ep, tx);
    }
    /* libfabric has these still, but they are copies */
    for (struct tp_link *link = peer->flying.head; link != NULL;
         link = link->next) {
        struct ofi_tx *tx = TP_OBJECT(link, struct ofi_tx, link);
        end_op(tx, status);
        ep->flushes -= tx->flush;
        tx->flush = false;
        tx->lost = true;
    }
    peer->injected = 0;
}

void
ofi_send_cancel(na_plugin_ctx *ctx, struct ofi_op *op)
{
    struct ofi_tx *tx = op->tx;
    struct ofi_peer *peer = tx->peer;

    for (struct tp_link *link = peer->queue.head; link != NULL;
         link = link->next)
        if (link == &tx->link) {
            tp_list_remove(&peer->queue, link);
            end_op(tx, NA_PLUGIN_E_CANCELED);
            ofi_peer_moved(ctx->ep, peer);
            tx_free(ctx->ep, tx);
            return;
        }
}

void
ofi_send_abandon(na_plugin_ctx *ctx)
{
    while (ctx->sends.head != NULL) {
        struct ofi_tx *tx = TP_OBJECT(ctx->sends.head, struct ofi_tx, by_ctx);
        struct ofi_op *op = tx->op;
        ofi_send_cancel(ctx, op);
        if (ctx->sends.head != &tx->by_ctx)
            continue;
        tp_list_remove(&ctx->sends, &tx->by_ctx);
        tx->op = NULL;
    }
}
