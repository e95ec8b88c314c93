/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that libfabric knows, and that something is pending with. */
#include "peer.h"
#include "addr.h"
#include "common/system.h"
#include "ofi.h"
#include "probe.h"
#include "quirk.h"

int32_t
ofi_peer_reach(struct ofi_endpoint *ep, na_plugin_addr *peer)
{
    uint64_t raw[OFI_RAW_MAX / 8];
    fi_addr_t addr = FI_ADDR_NOTAVAIL;

    if (peer->gone)
        return NA_PLUGIN_E_HOSTUNREACH;
    if (peer->fi_addr != FI_ADDR_NOTAVAIL)
        return NA_PLUGIN_OK;
    if (peer->end == NULL || !ofi_quirk_reach(ep, peer))
        return NA_PLUGIN_E_HOSTUNREACH;
    ofi_name_to_raw(ep->cls->trait, peer->end, raw);
    int ret = fi_av_insert(ep->av, raw, 1, &addr, 0, NULL);
    if (ret != 1 || addr == FI_ADDR_NOTAVAIL) {
        char text[OFI_TEXT_MAX];
        ofi_name_print(ep->cls->trait, peer->end, text);
        TP_LOG(ep->cls->host, ERROR, "libfabric does not take address %s: %s",
            text, ret < 0 ? ofi_library.strerror(-ret) : "no reason given");
        return NA_PLUGIN_E_HOSTUNREACH;
    }
    peer->fi_addr = addr;
    return NA_PLUGIN_OK;
}

void
ofi_peer_activate(struct ofi_endpoint *ep, na_plugin_addr *peer)
{
    if (peer->doubted) {
        ep->polls = OFI_PEER_POLLS;
        ep->look_ns = 0;
    }
    if (peer->is_active)
        return;
    peer->is_active = true;
    peer->pinged_ns = peer->heard_ns = 0;
    tp_list_append(&ep->active, &peer->active);
}

void
ofi_peer_unstick(struct ofi_endpoint *ep, na_plugin_addr *peer)
{
    if (peer->stuck_ns == 0)
        return;
    peer->stuck_ns = 0;
    ep->stuck--;
    ofi_probe_end(peer);
}

void
ofi_peer_deactivate(struct ofi_endpoint *ep, na_plugin_addr *peer)
{
    if (!peer->is_active)
        return;
    ofi_probe_end(peer);
    ofi_peer_unstick(ep, peer);
    peer->is_active = false;
    tp_list_remove(&ep->active, &peer->active);
}

void
ofi_peer_stuck(struct ofi_endpoint *ep, na_plugin_addr *peer)
{
    ofi_peer_activate(ep, peer);
    if (peer->stuck_ns != 0)
        return;
    peer->stuck_ns = tp_now();
    ep->stuck++;
    if (ep->look_ns > peer->stuck_ns + OFI_PEER_LOOK_NS)
        ep->look_ns = peer->stuck_ns + OFI_PEER_LOOK_NS;
}

void
ofi_peer_moved(struct ofi_endpoint *ep, na_plugin_addr *peer)
{
    if (peer->stuck_ns == 0)
        return;
    if (peer->queue.head != NULL || peer->blocked)
        peer->stuck_ns = tp_now();
    else
        ofi_peer_unstick(ep, peer);
}

void
ofi_peer_unknow(struct ofi_endpoint *ep, na_plugin_addr *peer)
{
    ofi_peer_deactivate(ep, peer);
    if (peer->fi_addr != FI_ADDR_NOTAVAIL && ep->av != NULL &&
        !ep->keeps_addresses)
        fi_av_remove(ep->av, &peer->fi_addr, 1, 0);
    peer->fi_addr = FI_ADDR_NOTAVAIL;
}
