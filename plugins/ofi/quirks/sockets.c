/* SPDX-License-Identifier: BSD-3-Clause */
/* The provider sockets. */
#include <rdma/fabric.h>

#include "../provider.h"
#include "../quirk.h"

/* Its wait object works, although it fails the test of waitset.c. It does not
 * tell that a connection is lost: the first ping without an answer is a reason to
 * probe. A message ends when its receiver has polled, unless FI_INJECT_COMPLETE
 * says that it is enough for it to have left. */
static void
adjust(const struct ofi_trait *trait, struct ofi_conduct *conduct)
{
    conduct->trust_wait = true;
    conduct->pings_before_probe = 0;
    conduct->flush_flags = FI_INJECT_COMPLETE;
}

const struct ofi_quirk ofi_quirk_sockets = {
    .provider = "sockets", .adjust = adjust};
