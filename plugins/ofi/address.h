/* SPDX-License-Identifier: BSD-3-Clause */
/* The core's addresses: a peer's class, by the name of its first endpoint. What an
 * endpoint of this class knows of the peer's endpoints is in peer.h. */
#ifndef OFI_ADDRESS_H
#define OFI_ADDRESS_H

#include "common/address.h"
#include "name.h"

struct na_plugin_addr {
    struct tp_addr addr;  /* in class.addrs */
    struct ofi_name name; /* constant */
    bool self;            /* constant: this class */
    _Atomic bool known;   /* some class was heard of there */
    _Atomic uint64_t
        forgotten;          /* number of the class before the present one, as
                                   first has it */
    struct ofi_peer *first; /* the first endpoint's peer for the peer's first
                                   one, NULL: none; its lock */
};

/* The address with this name, one reference; NULL: no memory. [any thread] */
na_plugin_addr *ofi_addr_get(na_plugin_class *cls, const struct ofi_name *name);

/* One reference more, of one that somebody has; one less. [any thread] */
static inline void
ofi_addr_hold(na_plugin_addr *addr)
{
    tp_addr_hold(&addr->addr, false);
}
void ofi_addr_release(na_plugin_class *cls, na_plugin_addr *addr);

/* Frees all that are left; how many. */
uint32_t ofi_addr_fini(na_plugin_class *cls);

/* The ABI's operations; that to forget a peer is in route.h. */
int32_t ofi_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p);
int32_t ofi_addr_lookup(
    na_plugin_class *cls, const char *text, na_plugin_addr **addr_p);
void ofi_addr_dup(na_plugin_class *cls, na_plugin_addr *addr);
int32_t ofi_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b);
uint64_t ofi_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr);
int32_t ofi_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p);
int32_t ofi_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p);
int32_t ofi_addr_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_addr **addr_p);

#endif /* OFI_ADDRESS_H */
