/* SPDX-License-Identifier: BSD-3-Clause */
/* Calling the hooks of a class's quirks. */
#include "quirk.h"
#include "ofi.h"
#include "work.h"

void *
ofi_quirk_data(const struct ofi_endpoint *ep, const struct ofi_quirk *quirk)
{
    for (uint32_t i = 0; ep->quirks[i] != NULL; i++)
        if (ep->quirks[i] == quirk)
            return ep->quirk_data[i];
    return NULL;
}

/* Defines a function that calls the hook of all quirks of a class that have it,
 * and returns whether all, or any, of them returned true. */
#define ALL(hook, params, ...)                                                 \
    bool ofi_quirk_##hook params                                               \
    {                                                                          \
        bool all = true;                                                       \
                                                                               \
        for (uint32_t i = 0; ep->quirks[i] != NULL; i++)                       \
            if (ep->quirks[i]->hook != NULL)                                   \
                all = ep->quirks[i]->hook(__VA_ARGS__) && all;                 \
        return all;                                                            \
    }
#define ANY(hook, params, ...)                                                 \
    bool ofi_quirk_##hook params                                               \
    {                                                                          \
        bool any = false;                                                      \
                                                                               \
        for (uint32_t i = 0; !any && ep->quirks[i] != NULL; i++)               \
            any = ep->quirks[i]->hook != NULL &&                               \
                  ep->quirks[i]->hook(__VA_ARGS__);                            \
        return any;                                                            \
    }

ALL(settle, (struct ofi_endpoint * ep, bool rma), ep, rma)
ALL(leaving, (struct ofi_endpoint * ep), ep)
ALL(reach, (struct ofi_endpoint * ep, const struct ofi_peer *peer), ep, peer)
ALL(rma_permitted,
    (struct ofi_endpoint * ep, struct ofi_peer *peer,
        const na_plugin_mem *described),
    ep, peer, described)
ANY(retry_endpoint, (struct ofi_endpoint * ep, int error), ep, error)
ANY(owns_descriptor, (const struct ofi_endpoint *ep, int fd), ep, fd)

int32_t
ofi_quirk_opened(struct ofi_endpoint *ep)
{
    int32_t ret = NA_PLUGIN_OK;

    for (uint32_t i = 0; ret == NA_PLUGIN_OK && ep->quirks[i] != NULL; i++)
        if (ep->quirks[i]->opened != NULL)
            ret = ep->quirks[i]->opened(ep);
    return ret;
}

bool
ofi_quirk_open_rma(
    struct ofi_endpoint *ep, struct fid_ep **fep_p, int32_t *ret_p)
{
    for (uint32_t i = 0; ep->quirks[i] != NULL; i++)
        if (ep->quirks[i]->open_rma != NULL) {
            *ret_p = ep->quirks[i]->open_rma(ep, fep_p);
            return true;
        }
    return false;
}

void
ofi_quirk_close_endpoint(
    struct ofi_endpoint *ep, struct fid_ep *fep, bool settled)
{
    for (uint32_t i = 0; ep->quirks[i] != NULL; i++)
        if (ep->quirks[i]->defer_close != NULL &&
            ep->quirks[i]->defer_close(ep, fep, settled))
            return;
    OFI_QUIRKS_CALL(ep, endpoint_closing, ep, fep);
    fi_close(&fep->fid);
}

struct ofi_fragment *
ofi_quirk_rma_failed(struct ofi_endpoint *ep, uint64_t flags)
{
    struct ofi_fragment *fragment = NULL;

    for (uint32_t i = 0; fragment == NULL && ep->quirks[i] != NULL; i++)
        if (ep->quirks[i]->rma_failed != NULL)
            fragment = ep->quirks[i]->rma_failed(ep, flags);
    return fragment;
}

void
ofi_quirk_work(struct ofi_endpoint *ep)
{
    bool rare = ep->quirk_polls >= OFI_QUIRK_RARE;
    bool due = false;

    if (rare)
        ep->quirk_polls = 0;
    ep->due = false;
    for (uint32_t i = 0; ep->quirks[i] != NULL; i++)
        if (ep->quirks[i]->work != NULL)
            due = ep->quirks[i]->work(ep, rare) || due;
    ep->due = ep->due || due;
}

uint64_t
ofi_quirk_sleep_limit(struct ofi_endpoint *ep)
{
    uint64_t sleep_ns = UINT64_MAX;

    for (uint32_t i = 0; ep->quirks[i] != NULL; i++) {
        uint64_t one = ep->quirks[i]->sleep != NULL ? ep->quirks[i]->sleep(ep)
                                                    : UINT64_MAX;
        sleep_ns = one < sleep_ns ? one : sleep_ns;
    }
    return sleep_ns;
}
