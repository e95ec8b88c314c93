/* SPDX-License-Identifier: BSD-3-Clause */
/* The endpoints of this process, and of a class. */
#ifndef OFI_ENDPOINTS_H
#define OFI_ENDPOINTS_H

#include <pthread.h>

#include "ofi.h"

/* Its lock is taken before those of the endpoints in it. */
struct ofi_endpoints {
    pthread_mutex_t lock;
    struct ofi_endpoint *first; /* by endpoint.next */
};
extern struct ofi_endpoints ofi_endpoints;

void ofi_endpoints_join(struct ofi_endpoint *ep);
/* Also of one that has not joined. */
void ofi_endpoints_leave(struct ofi_endpoint *ep);

/* The endpoint of a context; NULL: none of its own. acquire: pairs with
 * open_endpoint in class.c. */
static inline struct ofi_endpoint *
ofi_endpoint_of(const na_plugin_class *cls, uint32_t id)
{
    return atomic_load_explicit(&cls->endpoints[id], memory_order_acquire);
}

/* Endpoints without a context, which others have to advance; counts more of them. */
static inline uint32_t
ofi_endpoints_vacant(const na_plugin_class *cls)
{
    return atomic_load_explicit(&cls->vacant, memory_order_relaxed);
}

static inline void
ofi_endpoints_count_vacant(na_plugin_class *cls, int32_t more)
{
    atomic_fetch_add_explicit(
        &cls->vacant, (uint32_t) more, memory_order_relaxed);
}

/* Calls for each endpoint of a class. */
void ofi_endpoints_each(const na_plugin_class *cls,
    void (*visit)(struct ofi_endpoint *ep, void *arg), void *arg);

#endif /* OFI_ENDPOINTS_H */
