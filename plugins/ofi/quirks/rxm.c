/* SPDX-License-Identifier: BSD-3-Clause */
/* The layer rxm, which makes connectionless endpoints of connections. */
#include <string.h>

#include "../ofi.h"
#include "../quirk.h"

#define REPEATS 7U

static bool
applies(const struct ofi_trait *trait, uint32_t version)
{
    return strstr(trait->provider, ";ofi_rxm") != NULL;
}

/* That a connection is lost is noticed some calls after its first failure. */
static void
adjust(const struct ofi_trait *trait, struct ofi_conduct *conduct)
{
    if (conduct->probe == OFI_PROBE_PORT)
        conduct->rma_repeats = REPEATS;
}

/* An endpoint enters its own queue into the wait object of the class's, and does
 * not take it out when it is closed (up to 2.6: rxm_ep_wait_fd_add): fi_trywait
 * would ask what has been freed. */
static void
endpoint_closing(struct ofi_endpoint *ep, struct fid_ep *fep)
{
    (void) fep;
    if (ep->can_wait)
        ep->naps = true;
}

const struct ofi_quirk ofi_quirk_rxm = {
    .applies = applies, .adjust = adjust, .endpoint_closing = endpoint_closing};
