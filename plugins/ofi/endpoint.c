/* SPDX-License-Identifier: BSD-3-Clause */
/* How an endpoint is put together and taken apart. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cross.h"
#include "dispatch.h"
#include "endpoint.h"
#include "endpoints.h"
#include "fabric.h"
#include "header.h"
#include "mem.h"
#include "ofi.h"
#include "peer.h"
#include "pool.h"
#include "probe.h"
#include "quirk.h"
#include "receive.h"

#define SMALL 512U /* bytes of a short message, with its header */

/* What all headers of a class begin with, see header.h. */
static void
write_header(struct ofi_endpoint *ep)
{
    const struct ofi_name *name = &ep->cls->first->own_name,
                          *end = &ep->own_name;
    uint64_t number = htole64(ep->cls->number);
    unsigned char *bytes = ep->header;

    bytes[0] = OFI_HEADER_VERSION;
    memcpy(bytes + 8, &number, sizeof(number));
    bytes[24] = (unsigned char) name->length;
    memcpy(bytes + OFI_HEADER_NAME, name->bytes, name->length);
    bytes += OFI_HEADER_NAME + name->length;
    ep->header_length = ofi_header_length(name->length, 0);
    if (ofi_is_first(ep))
        return;
    bytes[0] = (unsigned char) end->length;
    memcpy(bytes + 1, end->bytes, end->length);
    ep->header_length = ofi_header_length(name->length, end->length);
}

/* The class's own address, and the header that contains it. */
static int32_t
introduce(struct ofi_endpoint *ep)
{
    uint64_t most = ep->cls->max_unexpected > ep->cls->max_expected
                        ? ep->cls->max_unexpected
                        : ep->cls->max_expected;

    ep->self = ofi_peer_get(ep, &ep->cls->first->own_name, (uint8_t) ep->index);
    if (ep->self == NULL) {
        TP_LOG(ep->cls->host, ERROR, "out of memory for an endpoint");
        return NA_PLUGIN_E_NOMEM;
    }
    ep->self->refs++;
    ofi_peer_set_name(ep->self, &ep->own_name);
    if (ofi_is_first(ep)) {
        ep->cls->self = ep->self->addr;
        ofi_addr_hold(ep->cls->self);
        ep->cls->self->self = true;
    }
    write_header(ep);
    ep->small.room = SMALL;
    ep->large.room = ep->header_length + (uint32_t) most;
    return ofi_probe_listen(ep);
}

/* In the order in which they depend on one another. */
static int32_t
build(struct ofi_endpoint *ep)
{
    int32_t ret = ofi_quirks_attach(ep);

    if (ret == NA_PLUGIN_OK)
        ret = ofi_fabric_open(ep);
    if (ret == NA_PLUGIN_OK)
        ret = ofi_quirk_opened(ep);
    if (ret == NA_PLUGIN_OK)
        ret = ofi_readback_init(ep);
    if (ret == NA_PLUGIN_OK)
        ret = introduce(ep);
    if (ret == NA_PLUGIN_OK)
        ret = ofi_rx_init(ep, ofi_dispatch_one, ofi_dispatch_many);
    return ret;
}

/* Takes info over. */
static struct ofi_endpoint *
allocate(na_plugin_class *cls, uint32_t index, struct fi_info *info)
{
    struct ofi_endpoint *ep = info != NULL ? calloc(1, sizeof(*ep)) : NULL;

    if (ep == NULL || tp_table_init(&ep->peers) != NA_PLUGIN_OK) {
        free(ep);
        ofi_library.freeinfo(info);
        TP_LOG(cls->host, ERROR, "out of memory for an endpoint");
        return NULL;
    }
    ep->cls = cls;
    ep->index = index;
    ep->info = info;
    ep->listener = -1;
    ep->quota.limit = cls->host->number(cls->host, "ofi.queue_size");
    ep->cross.event = -1;
    tp_mutex_init(&ep->lock, cls->single);
    tp_lock_init(&ep->cross.lock, cls->single);
    return ep;
}

int32_t
ofi_endpoint_new_first(na_plugin_class *cls, struct fi_info *info)
{
    cls->first = allocate(cls, 0, info);
    if (cls->first == NULL)
        return NA_PLUGIN_E_NOMEM;
    atomic_store_explicit(&cls->endpoints[0], cls->first, memory_order_relaxed);
    return build(cls->first);
}

/* Where registering is not safe beside other calls on a domain, each endpoint has
 * one of its own. */
int32_t
ofi_endpoint_new(
    na_plugin_class *cls, uint32_t index, struct ofi_endpoint **ep_p)
{
    struct ofi_endpoint *ep =
        allocate(cls, index, ofi_fabric_any_port(cls->first));

    if (ep == NULL)
        return NA_PLUGIN_E_NOMEM;
    ep->shares = !cls->conduct.serial_mr;
    int32_t ret = build(ep);
    if (ret != NA_PLUGIN_OK) {
        ofi_endpoint_destroy(ep);
        return ret;
    }
    *ep_p = ep;
    return NA_PLUGIN_OK;
}

/* Messages for endpoints that are closed. */
static void
drop_detained(struct ofi_endpoint *ep)
{
    tp_mutex_take(&ep->lock);
    if (ep->detained.head != NULL)
        ofi_forward_retry(ep);
    tp_mutex_drop(&ep->lock);
}

/* Its place among the process's endpoints, and what can be closed while peers may
 * still use its memory. True: none does. */
static bool
begin_to_close(struct ofi_endpoint *ep)
{
    bool settled = ofi_quirk_settle(ep, false);

    ofi_endpoints_leave(ep);
    settled = ofi_quirk_leaving(ep) && settled;
    if (ep->listener >= 0)
        close(ep->listener);
    return settled;
}

/* How many the core has kept. */
static uint32_t
fini_addrs(na_plugin_class *cls)
{
    if (cls->self != NULL)
        ofi_addr_release(cls, cls->self);
    return ofi_addr_fini(cls);
}

void
ofi_endpoint_destroy(struct ofi_endpoint *ep)
{
    const na_plugin_host *host = ep->cls->host;

    drop_detained(ep);
    bool settled = begin_to_close(ep);
    uint32_t mems = ofi_is_first(ep) ? ofi_mem_fini(ep->cls) : 0;
    ofi_readback_fini(ep);
    OFI_QUIRKS_CALL(ep, closing, ep, settled);
    ofi_fabric_close_endpoint(ep);
    ofi_peer_fini(ep);
    ofi_cross_clear(ep);
    uint32_t addrs = ofi_is_first(ep) ? fini_addrs(ep->cls) : 0;
    if (addrs != 0 || mems != 0)
        TP_LOG(host, WARNING,
            "closed with %" PRIu32 " addresses and %" PRIu32
            " registrations left",
            addrs, mems);
    ofi_rx_fini(ep);
    ofi_pool_fini(ep);
    ofi_fabric_close(ep);
    OFI_QUIRKS_CALL(ep, closed, ep);
    for (uint32_t i = 0; i < OFI_QUIRKS_MAX; i++)
        free(ep->quirk_data[i]);
    free(ep);
}
