/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing a class. If several contexts are expected,
 * each gets an endpoint of its own, with its queue of completions and its lock, so
 * that they do not wait for one another. Peers find them by way of the first one,
 * see route.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "barrier.h"
#include "class.h"
#include "common/open.h"
#include "cross.h"
#include "dispatch.h"
#include "endpoint.h"
#include "endpoints.h"
#include "header.h"
#include "library.h"
#include "liveness.h"
#include "match.h"
#include "ofi.h"
#include "op.h"
#include "peer.h"
#include "quirk.h"
#include "rma.h"
#include "route.h"
#include "send.h"

static uint32_t
message_size(const na_plugin_class *cls, const struct fi_info *device,
    uint64_t wanted, const char *kind)
{
    uint64_t most = device->ep_attr->max_msg_size;
    uint64_t header = ofi_header_length(OFI_NAME_MAX, OFI_NAME_MAX);

    most = most > header ? ofi_least(most - header, OFI_MESSAGE_MAX) : 0;
    return tp_open_message_size(cls->host, wanted,
        (uint32_t) ofi_least(most, OFI_MESSAGE_DEFAULT), (uint32_t) most, kind);
}

/* Whether contexts can have endpoints of their own. Not if puts and gets want
 * registrations of their own domain's. */
static bool
can_be_multi_endpoint(const na_plugin_class *cls, const struct fi_info *device)
{
    int of_domain = FI_MR_LOCAL | FI_MR_HMEM;

    return !cls->single && !cls->conduct.one_endpoint &&
           (!cls->conduct.serial_mr ||
               !(device->domain_attr->mr_mode & of_domain));
}

/* Sizes and settings. */
static void
configure(na_plugin_class *cls, const na_plugin_open_info *info,
    const struct fi_info *device)
{
    const na_plugin_host *host = cls->host;

    cls->connect_ns = host->number(host, "ofi.connect_timeout");
    cls->host_ns = host->number(host, "ofi.host_timeout");
    cls->retry_ns = host->number(host, "ofi.retry_timeout");
    cls->send_ns = host->number(host, "ofi.send_timeout");
    cls->silence_ns = host->number(host, "ofi.probe_interval");
    cls->silent_ns = host->number(host, "ofi.silent_timeout");
    cls->max_unexpected =
        message_size(cls, device, info->max_unexpected_size, "unexpected");
    cls->max_expected =
        message_size(cls, device, info->max_expected_size, "expected");
    cls->context_max = OFI_CONTEXTS;
    cls->no_block = (info->flags & NA_PLUGIN_OPEN_NO_BLOCK) != 0;
    cls->no_retry = (info->flags & NA_PLUGIN_OPEN_NO_RETRY) != 0;
    cls->single = (info->thread_mode & NA_PLUGIN_THREAD_SINGLE_CLASS) != 0 &&
                  !cls->conduct.needs_locks;
    cls->multi = (na_plugin_multi_recv){.size = sizeof(cls->multi),
        .min_length = cls->max_unexpected,
        .recv_multi = ofi_recv_multi};
    tp_mutex_init(&cls->memory_lock, cls->single);
    tp_lock_init(&cls->keys.lock, cls->single);
    tp_lock_init(&cls->addrs_lock, cls->single);
    cls->multi_endpoint =
        info->max_contexts > 1 && can_be_multi_endpoint(cls, device);
}

/* UPCALLS: what liveness makes messages and transfers do */

static void
end(struct ofi_endpoint *ep, struct ofi_peer *peer, int32_t status)
{
    ofi_match_lose(peer, status);
    ofi_send_lose(ep, peer, status);
    ofi_rma_lose(ep, peer, status);
}

static void
retry(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    ofi_send_retry(ep, peer);
    if (peer->blocked)
        ofi_rma_retry(ep, peer);
}

static const struct ofi_upcalls upcalls = {.end = end,
    .retry = retry,
    .forget = ofi_match_forget,
    .detour = ofi_route_detour,
    .replaced = ofi_route_replaced,
    .ping = ofi_send_ping,
    .forward = ofi_forward,
    .pass = ofi_forward_own};

/* CONTEXTS have an endpoint of libfabric's of their own for puts and gets, since
 * only closing it takes memory back from the device. */

static int32_t
create_context(
    struct ofi_endpoint *ep, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    if (ep->contexts[id] != NULL) {
        TP_LOG(ep->cls->host, ERROR, "context %u exists", id);
        return NA_PLUGIN_E_EXIST;
    }
    na_plugin_ctx *ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL)
        goto no_memory;
    ctx->ep = ep;
    ctx->id = id;
    ctx->core = core_ctx;
    ctx->wake = TP_WAKE_NONE;
    if (ofi_match_init(ctx) != NA_PLUGIN_OK)
        goto free_ctx;
    if (ep->can_wait &&
        tp_wake_init(&ctx->wake, &ep->wait_fd, 1) != NA_PLUGIN_OK)
        goto fini_match;

    tp_mutex_take(&ep->lock);
    ep->contexts[id] = ctx;
    ep->context_count++;
    tp_mutex_drop(&ep->lock);
    if (!ofi_is_first(ep))
        ofi_endpoints_count_vacant(ep->cls, -1);
    *ctx_p = ctx;
    return NA_PLUGIN_OK;

fini_match:
    tp_match_fini(&ctx->match);
free_ctx:
    free(ctx);
no_memory:
    TP_LOG(ep->cls->host, ERROR, "context %u: no memory or descriptors", id);
    return NA_PLUGIN_E_NOMEM;
}

void
ofi_ctx_destroy(na_plugin_ctx *ctx)
{
    struct ofi_endpoint *ep = ctx->ep;
    bool settled = ctx->rma_ep == NULL || ofi_quirk_settle(ep, true);
    na_plugin_event event;

    tp_mutex_take(&ep->lock);
    if (ctx->armed)
        ofi_cross_disarm(ctx);
    if (ep->cls->multi_endpoint)
        ofi_cross_clear(ep);
    if (ep->context_count == 1)
        ofi_barrier_flush(ep);
    ofi_send_abandon(ctx);
    ofi_rma_abandon(ctx, settled);
    ofi_match_fini(ctx);
    ep->contexts[ctx->id] = NULL;
    ep->context_count--;
    while (tp_events_take(&ctx->events, &event, 1) != 0)
        if (event.source != NULL)
            ofi_addr_release(ep->cls, event.source);
    tp_mutex_drop(&ep->lock);

    tp_wake_fini(&ctx->wake);
    tp_events_fini(&ctx->events);
    free(ctx);
    if (!ofi_is_first(ep))
        ofi_endpoints_count_vacant(ep->cls, 1);
}

/* CLASSES */

/* The first endpoint is closed last: the others use its name. */
void
ofi_class_destroy(na_plugin_class *cls)
{
    struct ofi_endpoint *first = cls->first;

    for (uint32_t i = 0; first != NULL && i < OFI_CONTEXTS; i++) {
        struct ofi_endpoint *ep = ofi_endpoint_of(cls, i);
        if (first->contexts[i] != NULL)
            ofi_ctx_destroy(first->contexts[i]);
        if (ep == NULL || ep == first)
            continue;
        if (ep->contexts[i] != NULL)
            ofi_ctx_destroy(ep->contexts[i]);
        tp_mutex_take(&first->lock);
        atomic_store_explicit(&cls->endpoints[i], NULL, memory_order_relaxed);
        tp_mutex_drop(&first->lock);
        ofi_endpoint_destroy(ep);
    }
    if (first != NULL)
        ofi_endpoint_destroy(first);
    tp_table_fini(&cls->addrs);
    tp_table_fini(&cls->mems);
    free(cls);
}

/* A class of the chosen provider, with room for the name of a protocol. */
static na_plugin_class *
allocate(const na_plugin_host *host, const char *protocol,
    const struct ofi_choice *choice)
{
    size_t length = strlen(protocol) + 1;
    na_plugin_class *cls = calloc(1, sizeof(*cls) + length);

    if (cls == NULL || tp_table_init(&cls->addrs) != NA_PLUGIN_OK ||
        tp_table_init(&cls->mems) != NA_PLUGIN_OK) {
        if (cls != NULL)
            tp_table_fini(&cls->addrs);
        free(cls);
        TP_LOG(host, ERROR, "out of memory for a class");
        return NULL;
    }
    cls->host = host;
    cls->upcalls = &upcalls;
    memcpy(cls->text_why, choice->why, sizeof(cls->text_why));
    cls->trait = choice->trait;
    if (choice->trait == &choice->other) {
        memcpy(cls->other_name, protocol, length);
        cls->other = choice->other;
        cls->other.protocol = cls->other.provider = cls->other.scheme =
            cls->other_name;
        cls->trait = &cls->other;
    }
    return cls;
}

int32_t
ofi_class_new(const na_plugin_host *host, const na_plugin_open_info *info,
    const struct ofi_choice *choice, na_plugin_class **cls_p)
{
    na_plugin_class *cls = allocate(host, info->protocol, choice);

    if (cls == NULL) {
        ofi_library.freeinfo(choice->info);
        return NA_PLUGIN_E_NOMEM;
    }
    cls->conduct = cls->trait->conduct;
    ofi_quirks_adjust(cls->trait, &cls->conduct);
    configure(cls, info, choice->info);
    cls->delivery = ofi_info_has_delivery(cls->trait);
    int32_t ret = NA_PLUGIN_E_IO_ERROR;
    if (tp_random_draw(&cls->keys.random, &cls->number))
        ret = ofi_endpoint_new_first(cls, choice->info);
    else {
        TP_LOG(host, ERROR, "no random numbers");
        ofi_library.freeinfo(choice->info);
    }
    if (ret != NA_PLUGIN_OK) {
        ofi_class_destroy(cls);
        return ret;
    }
    *cls_p = cls;
    return NA_PLUGIN_OK;
}

/* The endpoint of a context, opened at first use. It stays as long as the class:
 * peers know it. */
static int32_t
open_endpoint(na_plugin_class *cls, uint32_t id, struct ofi_endpoint **ep_p)
{
    struct ofi_endpoint *ep = ofi_endpoint_of(cls, id);
    struct ofi_signals signals;

    *ep_p = ep;
    if (ep != NULL)
        return NA_PLUGIN_OK;
    ofi_signals_note(&signals);
    ofi_quirks_prepare();
    int32_t ret = ofi_endpoint_new(cls, id, &ep);
    if (ret == NA_PLUGIN_OK)
        OFI_QUIRKS_CALL(ep, joined, ep);
    ofi_signals_restore(&signals);
    if (ret != NA_PLUGIN_OK)
        return ret;
    ofi_endpoints_join(ep);
    if (ep->can_wait != cls->first->can_wait) {
        TP_LOG(cls->host, ERROR,
            "context %" PRIu32
            ": its endpoint's wait object is of another kind",
            id);
        ofi_endpoint_destroy(ep);
        return NA_PLUGIN_E_IO_ERROR;
    }
    char text[OFI_TEXT_MAX];
    ofi_name_print(cls->trait, &ep->own_name, text);
    TP_LOG(cls->host, INFO,
        "context %" PRIu32 " has an endpoint of its own: %s", id, text);
    ofi_endpoints_count_vacant(ep->cls, 1);
    /* release: pairs with ofi_endpoint_of */
    atomic_store_explicit(&cls->endpoints[id], ep, memory_order_release);
    *ep_p = ep;
    return NA_PLUGIN_OK;
}

int32_t
ofi_class_create_context(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    struct ofi_endpoint *ep = cls->first;
    int32_t ret = NA_PLUGIN_OK;

    if (id >= cls->context_max) {
        TP_LOG(cls->host, ERROR, "context %u: there are at most %u", id,
            cls->context_max);
        return NA_PLUGIN_E_OVERFLOW;
    }
    if (cls->multi_endpoint)
        ret = open_endpoint(cls, id, &ep);
    return ret == NA_PLUGIN_OK ? create_context(ep, id, core_ctx, ctx_p) : ret;
}
