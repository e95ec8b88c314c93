/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams with the layer rxd. */
#include "../provider.h"
#include "../quirk.h"

/* A peer that does not answer a ping for long is gone: nothing else tells. */
static void
adjust(const struct ofi_trait *trait, struct ofi_conduct *conduct)
{
    conduct->must_answer = true;
    conduct->one_endpoint = true;
}

const struct ofi_quirk ofi_quirk_udp = {
    .provider = "udp;ofi_rxd", .adjust = adjust};
