/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: one object for each name, found again by a table. */
#ifndef OFI_ADDRESS_H
#define OFI_ADDRESS_H

#include "addr.h"

/* Frees all that are left; how many of them somebody had a reference of. */
uint32_t ofi_addr_fini(struct ofi_endpoint *ep);

/* The address with this name, one reference; NULL: no memory. [lock] */
na_plugin_addr *ofi_addr_get(
    struct ofi_endpoint *ep, const struct ofi_name *name);

/* Likewise the object for one of a peer's endpoints, see addr.h. An endpoint takes
 * the first one's lock for it. [lock] */
na_plugin_addr *ofi_addr_get_part(
    struct ofi_endpoint *ep, const struct ofi_name *name, uint8_t at);

/* The same if there is one; otherwise NULL. [lock] */
na_plugin_addr *ofi_addr_find_part(
    struct ofi_endpoint *ep, na_plugin_addr *whole, uint8_t at);

/* That of a class, without a reference; NULL: none. [lock] */
na_plugin_addr *ofi_addr_peek(
    const struct ofi_endpoint *ep, const struct ofi_name *name);

/* Whether an endpoint of this name is known. [lock] */
bool ofi_addr_is_known(
    const struct ofi_endpoint *ep, const struct ofi_name *name);

/* The object that stands for this endpoint. NULL: no memory. */
na_plugin_addr *ofi_addr_self_new(struct ofi_endpoint *ep);

/* Says which endpoint one stands for, when libfabric does not have it. False: no
 * memory. [lock] */
bool ofi_addr_set_end(
    struct ofi_endpoint *ep, na_plugin_addr *addr, const struct ofi_name *end);

/* One reference more, of one that somebody has. [any thread] */
static inline void
ofi_addr_hold(na_plugin_addr *addr)
{
    atomic_fetch_add_explicit(&addr->refs, 1, memory_order_relaxed);
}

/* One less. [lock] */
void ofi_addr_drop(struct ofi_endpoint *ep, na_plugin_addr *addr);

/* The same of what the core has, by an endpoint that may not be the first one.
 * [lock] */
void ofi_addr_drop_source(struct ofi_endpoint *ep, na_plugin_addr *addr);

/* The same without it. */
void ofi_addr_release(struct ofi_endpoint *ep, na_plugin_addr *addr);

#endif /* OFI_ADDRESS_H */
