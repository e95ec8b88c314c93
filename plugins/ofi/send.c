/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending: injected when it is short, else a copy that libfabric gets when it
 * has room; in order for each peer. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "address.h"
#include "context.h"
#include "header.h"
#include "match.h"
#include "peer.h"
#include "pool.h"
#include "progress.h"
#include "rma.h"
#include "route.h"
#include "send.h"
#include "wait.h"

#define INJECT_ROW 64U /* injected messages without one that is waited for */
#define FLUSH_NS OFI_SECOND

static void
tx_free(na_plugin_class *cls, struct ofi_tx *tx)
{
    na_plugin_addr *peer = tx->peer;

    if (tx->fence)
        cls->fences--;
    ofi_pool_tx_free(tx);
    ofi_addr_drop(cls, peer);
}

/* Ends the operation of a message, if somebody waits for it. */
static void
end_op(struct ofi_tx *tx, int32_t status)
{
    struct ofi_op *op = tx->op;

    if (op == NULL)
        return;
    tx->op = NULL;
    ofi_list_remove(&op->ctx->sends, &tx->by_ctx);
    ofi_ctx_end(op->ctx, op, status);
}

/* What a class that closes waits for: that it has left, and with it all before
 * it. Its receiver may not poll for long. */
static ssize_t
hand_over_fence(na_plugin_class *cls, struct ofi_tx *tx)
{
    const struct iovec part = {tx->data, tx->length};
    const struct fi_msg message = {.msg_iov = &part,
        .desc = &tx->desc,
        .iov_count = 1,
        .addr = tx->peer->fi_addr,
        .context = &tx->work.fi};

    return fi_sendmsg(cls->ep, &message, FI_COMPLETION | FI_INJECT_COMPLETE);
}

/* Why a message failed. The system says EINVAL of a connection to another host
 * from an address of the loopback interface, as a class has where no other
 * interface has a carrier. What is sent has been checked. */
static int
cause_of(const na_plugin_class *cls, int error)
{
    return error == FI_EINVAL && (cls->trait->flags & OFI_TRAIT_TCP) != 0
               ? EHOSTUNREACH
               : error;
}

/* Hands one to libfabric. */
static int
submit(na_plugin_class *cls, struct ofi_tx *tx)
{
    na_plugin_addr *peer = tx->peer;

    ssize_t ret = tx->fence && (cls->trait->flags & OFI_TRAIT_LATE_END) != 0
                      ? hand_over_fence(cls, tx)
                      : fi_send(cls->ep, tx->data, tx->length, tx->desc,
                            peer->fi_addr, &tx->work.fi);
    if (ret != 0)
        return cause_of(cls, (int) -ret);
    ofi_list_append(&peer->flying, &tx->link);
    peer->met = true;
    peer->injected = 0;
    ofi_peer_moved(cls, peer);
    return 0;
}

/* The first of a peer's queue, as long as libfabric takes them. */
static void
retry_peer(na_plugin_class *cls, na_plugin_addr *peer)
{
    while (peer->queue.head != NULL) {
        struct ofi_tx *tx = OFI_OBJECT(peer->queue.head, struct ofi_tx, link);
        ofi_list_remove(&peer->queue, &tx->link);
        int error = submit(cls, tx);
        cls->counters.eagain_retries++;
        if (error == 0)
            continue;
        tx->link.prev = NULL;
        tx->link.next = peer->queue.head;
        if (peer->queue.head != NULL)
            peer->queue.head->prev = &tx->link;
        else
            peer->queue.tail = &tx->link;
        peer->queue.head = &tx->link;
        if (error == FI_EAGAIN)
            return;
        if (ofi_peer_is_loss(error))
            ofi_route_detour(cls, peer);
        ofi_peer_lose(
            cls, peer, ofi_peer_code(error), ofi_library.strerror(error));
        return;
    }
}

void
ofi_send_retry(na_plugin_class *cls)
{
    struct ofi_link *next = NULL;

    for (struct ofi_link *link = cls->active.head; link != NULL; link = next) {
        na_plugin_addr *peer = OFI_OBJECT(link, na_plugin_addr, active);
        next = link->next;
        if (peer->stuck_ns == 0)
            continue;
        ofi_addr_hold(peer);
        retry_peer(cls, peer);
        if (peer->blocked)
            ofi_rma_retry(cls, peer);
        ofi_addr_drop(cls, peer);
    }
}

static struct ofi_tx *
make(na_plugin_class *cls, na_plugin_addr *peer,
    const struct ofi_header *header, const void *buffer, uint64_t length)
{
    struct ofi_tx *tx =
        ofi_pool_tx(cls, cls->header_length + (uint32_t) length);
    if (tx == NULL)
        return NULL;
    ofi_header_write(cls, tx->data, header);
    if (length != 0)
        memcpy(tx->data + cls->header_length, buffer, length);
    tx->length = cls->header_length + (uint32_t) length;
    tx->peer = peer;
    ofi_addr_hold(peer);
    return tx;
}

/* Sends one that nobody waits for; a queue of these would only grow. */
static bool
send_control(na_plugin_class *cls, na_plugin_addr *peer, uint8_t kind,
    uint32_t tag, const struct ofi_name *name)
{
    const struct ofi_header header = {.kind = kind,
        .source_ctx = (uint8_t) cls->lane,
        .tag = tag,
        .target = peer->number};
    bool queue = kind == OFI_HEADER_PING;

    if (ofi_peer_reach(cls, peer) != NA_PLUGIN_OK || peer->queue.head != NULL)
        return false;
    struct ofi_tx *tx = make(cls, peer, &header,
        name != NULL ? name->bytes : NULL, name != NULL ? name->length : 0);
    if (tx == NULL)
        return false;
    tx->fence = kind == OFI_HEADER_FENCE;
    cls->fences += tx->fence;
    int error = submit(cls, tx);
    if (error == 0)
        return true;
    if (error == FI_EAGAIN && queue) {
        ofi_list_append(&peer->queue, &tx->link);
        ofi_peer_stuck(cls, peer);
        return true;
    }
    tx_free(cls, tx);
    if (error != FI_EAGAIN)
        ofi_peer_failed(cls, peer, error);
    return false;
}

void
ofi_send_ping(na_plugin_class *cls, na_plugin_addr *peer)
{
    if (peer->flying.head != NULL)
        return; /* what is on its way will tell as much */
    if (send_control(cls, peer, OFI_HEADER_PING, ++cls->ping_number, NULL))
        cls->counters.pings++;
}

uint32_t
ofi_send_ask(na_plugin_class *cls, na_plugin_addr *peer)
{
    uint32_t number = ++cls->ping_number;

    return send_control(cls, peer, OFI_HEADER_PING, number, NULL) ? number : 0;
}

void
ofi_send_pong(na_plugin_class *cls, na_plugin_addr *peer)
{
    send_control(cls, peer, OFI_HEADER_PONG, peer->pinged, NULL);
}

void
ofi_send_lane(
    na_plugin_class *cls, na_plugin_addr *peer, const na_plugin_class *lane)
{
    /* one at a time, if it does not read */
    if (peer->flying.head != NULL)
        return;
    send_control(cls, peer, OFI_HEADER_LANE, lane->lane, &lane->own_name);
}

/* Put together on the stack, and given to libfabric with all its worries. */
static int
inject(na_plugin_class *cls, na_plugin_addr *peer,
    const struct ofi_header *header, const void *buffer, uint64_t length)
{
    alignas(8) unsigned char bytes[OFI_INJECT_LIMIT];

    ofi_header_write(cls, bytes, header);
    if (length != 0)
        memcpy(bytes + cls->header_length, buffer, length);
    return (int) -fi_inject(
        cls->ep, bytes, cls->header_length + length, peer->fi_addr);
}

static int32_t
post(na_plugin_ctx *ctx, struct ofi_op *op, na_plugin_addr *peer,
    const struct ofi_header *header, const void *buffer, uint64_t length)
{
    na_plugin_class *cls = ctx->cls;
    bool waits = peer->queue.head != NULL;

    if (!waits && cls->header_length + length <= cls->inject_size &&
        peer->injected < INJECT_ROW && peer->flying.head == NULL &&
        inject(cls, peer, header, buffer, length) == 0) {
        peer->injected++;
        peer->met = true;
        cls->counters.injected++;
        return NA_PLUGIN_DONE;
    }
    if (waits && cls->no_retry)
        return NA_PLUGIN_E_AGAIN;

    int32_t ret = ofi_ctx_promise(ctx);
    if (ret != NA_PLUGIN_OK)
        return ret;
    struct ofi_tx *tx = make(cls, peer, header, buffer, length);
    int error = tx == NULL ? FI_ENOMEM : waits ? FI_EAGAIN : submit(cls, tx);
    if (error != 0 && (error != FI_EAGAIN || cls->no_retry)) {
        if (tx != NULL)
            tx_free(cls, tx);
        ctx->promised--;
        if (error != FI_EAGAIN && error != FI_ENOMEM)
            ofi_peer_failed(cls, peer, error);
        return ofi_peer_code(error);
    }
    if (error != 0) {
        cls->counters.queued++;
        ofi_list_append(&peer->queue, &tx->link);
        ofi_peer_stuck(cls, peer);
    }
    op->kind = OFI_OP_SEND;
    op->state = OFI_OP_POSTED;
    op->ctx = ctx;
    op->tx = tx;
    tx->op = op;
    ofi_list_append(&ctx->sends, &tx->by_ctx);
    /* its end may show on no descriptor */
    if (ctx->armed)
        ofi_wait_rouse(ctx);
    return NA_PLUGIN_PENDING;
}

static inline int32_t
send_along(na_plugin_ctx *ctx, struct ofi_op *op, const void *buffer,
    uint64_t length, na_plugin_addr *route, struct ofi_header *header)
{
    /* an expected message is not for who may be there after its receiver */
    if (header->kind == OFI_HEADER_EXPECTED)
        header->target = route->number;
    int32_t ret = ofi_peer_reach(ctx->cls, route);
    if (ret == NA_PLUGIN_OK)
        ret = ofi_peer_present(ctx->cls, route);
    return ret != NA_PLUGIN_OK ? ret
                               : post(ctx, op, route, header, buffer, length);
}

static __attribute__((noinline)) int32_t
send_by_first(na_plugin_ctx *ctx, struct ofi_op *op, const void *buffer,
    uint64_t length, na_plugin_addr *peer, struct ofi_header *header)
{
    na_plugin_addr *route = ofi_route_begin(ctx->cls, peer, 0);

    if (route == NULL)
        return NA_PLUGIN_E_NOMEM;
    int32_t ret = send_along(ctx, op, buffer, length, route, header);
    ofi_route_end(ctx->cls, route);
    return ret;
}

static inline int32_t
send_out(na_plugin_ctx *ctx, struct ofi_op *op, const void *buffer,
    uint64_t length, na_plugin_addr *peer, struct ofi_header *header)
{
    na_plugin_class *cls = ctx->cls;
    na_plugin_addr *route = ofi_route_begin(cls, peer, header->target_ctx);

    if (route == NULL)
        return NA_PLUGIN_E_NOMEM;
    int32_t ret = send_along(ctx, op, buffer, length, route, header);
    if (__builtin_expect(route->of == route, 1))
        return ret;
    /* nobody is at the lane: by way of the peer's first endpoint then */
    bool again = ret == NA_PLUGIN_E_HOSTUNREACH && route->stale;
    ofi_addr_drop(cls, route);
    return again ? send_by_first(ctx, op, buffer, length, peer, header) : ret;
}

static inline int32_t
send_message(na_plugin_ctx *ctx, struct ofi_op *op, const void *buffer,
    uint64_t length, na_plugin_addr *peer, struct ofi_header *header)
{
    na_plugin_class *cls = ctx->cls;

    ofi_lock_take(&cls->lock);
    cls->counters.sent++;
    int32_t ret = peer->self ? ofi_match_self(ctx, op, buffer, length, header)
                             : send_out(ctx, op, buffer, length, peer, header);
    ofi_lock_drop(&cls->lock);
    return ret;
}

int32_t
ofi_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    struct ofi_header header = {.kind = OFI_HEADER_UNEXPECTED,
        .source_ctx = (uint8_t) ctx->id,
        .target_ctx = (uint8_t) peer_ctx,
        .tag = (uint32_t) tag};

    (void) buffer_data;
    if (length > ctx->cls->max_unexpected)
        return NA_PLUGIN_E_MSGSIZE;
    if (tag > OFI_TAG_MAX || peer_ctx >= OFI_CONTEXTS)
        return NA_PLUGIN_E_INVALID_ARG;
    return send_message(ctx, op, buffer, length, peer, &header);
}

int32_t
ofi_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    struct ofi_header header = {.kind = OFI_HEADER_EXPECTED,
        .source_ctx = (uint8_t) ctx->id,
        .target_ctx = (uint8_t) peer_ctx,
        .tag = (uint32_t) tag};

    (void) buffer_data;
    if (length > ctx->cls->max_expected)
        return NA_PLUGIN_E_MSGSIZE;
    if (tag > OFI_TAG_MAX || peer_ctx >= OFI_CONTEXTS)
        return NA_PLUGIN_E_INVALID_ARG;
    return send_message(ctx, op, buffer, length, peer, &header);
}

void
ofi_send_done(na_plugin_class *cls, struct ofi_tx *tx, int error)
{
    na_plugin_addr *peer = tx->peer;

    ofi_list_remove(&peer->flying, &tx->link);
    if (error == 0) {
        end_op(tx, NA_PLUGIN_OK);
        tx_free(cls, tx);
        return;
    }
    error = cause_of(cls, error);
    end_op(tx, ofi_peer_code(error));
    /* as many may follow as a peer had to be answered: what is under way with it
     * has ended with the first */
    if (tx->lost) {
        cls->counters.completion_errors++;
        tx_free(cls, tx);
        return;
    }
    ofi_addr_hold(peer);
    tx_free(cls, tx);
    ofi_peer_failed(cls, peer, error);
    ofi_addr_drop(cls, peer);
}

void
ofi_send_lose(na_plugin_class *cls, na_plugin_addr *peer, int32_t status)
{
    while (peer->queue.head != NULL) {
        struct ofi_tx *tx =
            OFI_OBJECT(ofi_list_pop(&peer->queue), struct ofi_tx, link);
        end_op(tx, status);
        tx_free(cls, tx);
    }
    /* libfabric has these still, but they are copies */
    for (struct ofi_link *link = peer->flying.head; link != NULL;
         link = link->next) {
        struct ofi_tx *tx = OFI_OBJECT(link, struct ofi_tx, link);
        end_op(tx, status);
        cls->fences -= tx->fence;
        tx->fence = false;
        tx->lost = true;
    }
    peer->injected = 0;
}

void
ofi_send_cancel(na_plugin_ctx *ctx, struct ofi_op *op)
{
    struct ofi_tx *tx = op->tx;
    na_plugin_addr *peer = tx->peer;

    for (struct ofi_link *link = peer->queue.head; link != NULL;
         link = link->next)
        if (link == &tx->link) {
            ofi_list_remove(&peer->queue, link);
            end_op(tx, NA_PLUGIN_E_CANCELED);
            ofi_peer_moved(ctx->cls, peer);
            tx_free(ctx->cls, tx);
            return;
        }
}

void
ofi_send_flush(na_plugin_class *cls)
{
    uint64_t end = ofi_peer_now() + FLUSH_NS;

    /* stuck, to be knocked at: some providers go on trying to reach the gone */
    for (uint32_t i = 0; i < cls->names_size; i++)
        for (na_plugin_addr *peer = cls->names[i]; peer != NULL;
             peer = peer->next)
            if (peer->injected != 0 && !peer->gone &&
                send_control(cls, peer, OFI_HEADER_FENCE, 0, NULL))
                ofi_peer_stuck(cls, peer);
    while (cls->fences != 0 && ofi_peer_now() < end) {
        if (ofi_progress_read(cls) == 0)
            sched_yield();
        ofi_peer_work(cls);
    }
    for (uint32_t i = 0; i < cls->names_size; i++)
        for (na_plugin_addr *peer = cls->names[i]; peer != NULL;
             peer = peer->next)
            ofi_peer_moved(cls, peer);
}

void
ofi_send_abandon(na_plugin_ctx *ctx)
{
    while (ctx->sends.head != NULL) {
        struct ofi_tx *tx = OFI_OBJECT(ctx->sends.head, struct ofi_tx, by_ctx);
        struct ofi_op *op = tx->op;
        ofi_send_cancel(ctx, op);
        if (ctx->sends.head != &tx->by_ctx)
            continue;
        ofi_list_remove(&ctx->sends, &tx->by_ctx);
        tx->op = NULL;
    }
}
