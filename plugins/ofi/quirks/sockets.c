/* SPDX-License-Identifier: BSD-3-Clause */
/* The provider sockets. */
#include <rdma/fabric.h>

#include "../provider.h"
#include "../quirk.h"

/* Its wait object works, although it fails the test of fabric.c. It does not
 * report a lost connection: the first ping without an answer causes a probe. A
 * message ends when its receiver has polled, unless FI_INJECT_COMPLETE is set:
 * then it ends when it is sent. */
static void
adjust(const struct ofi_trait *trait, struct ofi_conduct *conduct)
{
    conduct->trust_wait = true;
    conduct->pings_before_probe = 0;
    conduct->flush_flags = FI_INJECT_COMPLETE;
}

const struct ofi_quirk ofi_quirk_sockets = {
    .provider = "sockets", .adjust = adjust};
