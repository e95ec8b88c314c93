/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of TCP: errors of the system, and how a get is answered. */
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

/* connect fails with EINVAL from an address of the loopback interface to
 * another host. A class has such an address where no other interface has a
 * carrier. What is sent has been checked.
 *
 * Without the layer rxm, the owner answers a get with one write to the socket,
 * and does nothing else meanwhile: long gets are faster in parts. */
static void
adjust(const struct ofi_trait *trait, struct ofi_conduct *conduct)
{
    const char *provider = trait->provider;

    conduct->unreachable = FI_EINVAL;
    if (strcmp(provider, "tcp") == 0 || strcmp(provider, "net") == 0)
        conduct->get_max = GET_MAX;
}

const struct ofi_quirk ofi_quirk_tcp = {.applies = applies, .adjust = adjust};
