/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and transfers, as liveness sees them. */
#include "upcalls.h"
#include "addr.h"
#include "forward.h"
#include "match.h"
#include "rma.h"
#include "route.h"
#include "send.h"

static void
end(struct ofi_endpoint *ep, na_plugin_addr *peer, int32_t status)
{
    ofi_match_lose(peer, status);
    ofi_send_lose(ep, peer, status);
    ofi_rma_lose(ep, peer, status);
}

static void
retry(struct ofi_endpoint *ep, na_plugin_addr *peer)
{
    ofi_send_retry(ep, peer);
    if (peer->blocked)
        ofi_rma_retry(ep, peer);
}

const struct ofi_upcalls ofi_upcalls = {.end = end,
    .retry = retry,
    .forget = ofi_match_forget,
    .detour = ofi_route_detour,
    .replaced = ofi_route_replaced,
    .ping = ofi_send_ping,
    .forward = ofi_forward,
    .pass = ofi_forward_own};
