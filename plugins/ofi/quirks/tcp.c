/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of TCP: what the system says of them, and how a get is answered. */
#include <string.h>

#include <rdma/fi_errno.h>

#include "../provider.h"
#include "../quirk.h"

#define GET_MAX (512U << 10)

static bool
applies(const struct ofi_trait *trait, uint32_t version)
{
    return trait->conduct.probe == OFI_PROBE_PORT;
}

/* The system says EINVAL of a connection to another host from an address of the
 * loopback interface, as a class has where no other interface has a carrier. What
 * is sent has been checked.
 *
 * Without the layer rxm, whoever answers a get hands all of it to the system at
 * once, and does nothing else meanwhile: long ones are faster in parts. */
static void
adjust(const struct ofi_trait *trait, struct ofi_conduct *conduct)
{
    const char *provider = trait->provider;

    conduct->unreachable = FI_EINVAL;
    if (strcmp(provider, "tcp") == 0 || strcmp(provider, "net") == 0)
        conduct->get_max = GET_MAX;
}

const struct ofi_quirk ofi_quirk_tcp = {.applies = applies, .adjust = adjust};
