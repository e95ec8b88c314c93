/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams with the layer rxd. */
#include "../provider.h"
#include "../quirk.h"

/* A peer that answers no ping for long is lost: there is no other sign. */
static void
adjust(const struct ofi_trait *trait, struct ofi_conduct *conduct)
{
    conduct->must_answer = true;
    conduct->one_endpoint = true;
}

const struct ofi_quirk ofi_quirk_udp = {
    .provider = "udp;ofi_rxd", .adjust = adjust};
