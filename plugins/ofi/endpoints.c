/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of this process's endpoints. */
#include "endpoints.h"

struct ofi_endpoints ofi_endpoints = {.lock = PTHREAD_MUTEX_INITIALIZER};

void
ofi_endpoints_join(struct ofi_endpoint *ep)
{
    pthread_mutex_lock(&ofi_endpoints.lock);
    ep->next = ofi_endpoints.first;
    ofi_endpoints.first = ep;
    pthread_mutex_unlock(&ofi_endpoints.lock);
}

void
ofi_endpoints_leave(struct ofi_endpoint *ep)
{
    pthread_mutex_lock(&ofi_endpoints.lock);
    for (struct ofi_endpoint **link = &ofi_endpoints.first; *link != NULL;
         link = &(*link)->next)
        if (*link == ep) {
            *link = ep->next;
            break;
        }
    pthread_mutex_unlock(&ofi_endpoints.lock);
}

void
ofi_endpoints_each(const na_plugin_class *cls,
    void (*visit)(struct ofi_endpoint *ep, void *arg), void *arg)
{
    for (uint32_t i = 0; i < OFI_CONTEXTS; i++) {
        struct ofi_endpoint *ep = ofi_endpoint_of(cls, i);
        if (ep != NULL)
            visit(ep, arg);
    }
}
