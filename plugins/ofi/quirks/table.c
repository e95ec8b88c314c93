/* SPDX-License-Identifier: BSD-3-Clause */
/* All quirks, a line each: whatever its file is called, without ".c". The order
 * is that in which their hooks are called. */
#include <stdlib.h>
#include <string.h>

#include "../ofi.h"
#include "../quirk.h"

/* clang-format off */
#define QUIRKS(each) \
    each(descriptors) \
    each(accepted) \
    each(silent) \
    each(tcp) \
    each(rxm) \
    each(torn_gets) \
    each(sockets) \
    each(udp) \
    each(shm_process) \
    each(shm_lock) \
    each(shm_files) \
    each(shm_registrations) \
    each(shm_stuck_rma) \
    each(shm_deferred_close) \
    /* the end */
/* clang-format on */

#define DECLARE(name) extern const struct ofi_quirk ofi_quirk_##name;
QUIRKS(DECLARE)

#define ADDRESS(name) &ofi_quirk_##name,
static const struct ofi_quirk *const table[] = {QUIRKS(ADDRESS) NULL};

_Static_assert(sizeof(table) / sizeof(table[0]) <= OFI_QUIRKS_MAX + 1,
    "a class has room for all");

void
ofi_quirks_prepare(void)
{
    for (uint32_t i = 0; table[i] != NULL; i++)
        if (table[i]->prepare != NULL)
            table[i]->prepare();
}

static bool
concerns(const struct ofi_quirk *quirk, const struct ofi_trait *trait)
{
    return (quirk->provider == NULL ||
               strcmp(quirk->provider, trait->provider) == 0) &&
           (quirk->applies == NULL ||
               quirk->applies(trait, ofi_library.version()));
}

void
ofi_quirks_adjust(const struct ofi_trait *trait, struct ofi_conduct *conduct)
{
    for (uint32_t i = 0; table[i] != NULL; i++)
        if (table[i]->adjust != NULL && concerns(table[i], trait))
            table[i]->adjust(trait, conduct);
}

int32_t
ofi_quirks_attach(struct ofi_endpoint *ep)
{
    uint32_t count = 0;

    for (uint32_t i = 0; table[i] != NULL; i++) {
        const struct ofi_quirk *quirk = table[i];
        if (!concerns(quirk, ep->cls->trait))
            continue;
        if (quirk->data_size != 0) {
            ep->quirk_data[count] = calloc(1, quirk->data_size);
            if (ep->quirk_data[count] == NULL) {
                TP_LOG(ep->cls->host, ERROR, "out of memory for an endpoint");
                return NA_PLUGIN_E_NOMEM;
            }
        }
        ep->quirks[count++] = quirk;
        if (quirk->init != NULL)
            quirk->init(ep);
    }
    return NA_PLUGIN_OK;
}
