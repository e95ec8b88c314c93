/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: one object for each name, found again by a table. */
#ifndef OFI_ADDRESS_H
#define OFI_ADDRESS_H

#include "ofi.h"

/* Frees all that are left; how many of them somebody had a reference of. */
uint32_t ofi_addr_fini(na_plugin_class *cls);

/* The address with this name, one reference; NULL: no memory. [lock] */
na_plugin_addr *ofi_addr_get(na_plugin_class *cls, const struct ofi_name *name);

/* Likewise the object for one of a peer's endpoints, see ofi.h. A lane takes its
 * main class's lock for it. [lock] */
na_plugin_addr *ofi_addr_get_part(
    na_plugin_class *cls, const struct ofi_name *name, uint8_t at);

/* The same if there is one; otherwise NULL. [lock] */
na_plugin_addr *ofi_addr_find_part(
    na_plugin_class *cls, na_plugin_addr *whole, uint8_t at);

/* The object that stands for this class, or lane. NULL: no memory. */
na_plugin_addr *ofi_addr_self_new(na_plugin_class *cls);

/* Says which endpoint one stands for, when libfabric does not have it. False: no
 * memory. [lock] */
bool ofi_addr_set_end(
    na_plugin_class *cls, na_plugin_addr *addr, const struct ofi_name *end);

/* One reference more, of one that somebody has. [any thread] */
static inline void
ofi_addr_hold(na_plugin_addr *addr)
{
    atomic_fetch_add_explicit(&addr->refs, 1, memory_order_relaxed);
}

/* One less. [lock] */
void ofi_addr_drop(na_plugin_class *cls, na_plugin_addr *addr);

/* The operations of the ABI. */
int32_t ofi_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p);
int32_t ofi_addr_lookup(
    na_plugin_class *cls, const char *text, na_plugin_addr **addr_p);
void ofi_addr_dup(na_plugin_class *cls, na_plugin_addr *addr);
void ofi_addr_free(na_plugin_class *cls, na_plugin_addr *addr);
int32_t ofi_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b);
uint64_t ofi_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr);
int32_t ofi_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p);
int32_t ofi_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p);
int32_t ofi_addr_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_addr **addr_p);
void ofi_addr_forget(na_plugin_class *cls, na_plugin_addr *addr);

#endif /* OFI_ADDRESS_H */
