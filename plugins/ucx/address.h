/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: a name is one object; its peer is known once a connection has been
 * made. */
#ifndef UCX_ADDRESS_H
#define UCX_ADDRESS_H

#include "peer.h"

static inline void
ucx_addr_hold(na_plugin_addr *addr)
{
    tp_addr_hold(&addr->addr, false);
}

/* Drops a reference. [lock] */
void ucx_addr_release(na_plugin_class *cls, na_plugin_addr *addr);

/* The address with this name, found or made, one reference: a numeric
 * "protocol://host:port" as tp_host_text writes it. NULL: no memory. [lock] */
na_plugin_addr *ucx_addr_get(na_plugin_class *cls, const char *name,
    const struct sockaddr_storage *where, socklen_t length);

/* An address that is not to be found; name: "" if it has no string. [lock] */
na_plugin_addr *ucx_addr_make(na_plugin_class *cls, const char *name);

/* The operations of the table. */
int32_t ucx_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p);
int32_t ucx_addr_lookup(
    na_plugin_class *cls, const char *name, na_plugin_addr **addr_p);
void ucx_addr_dup(na_plugin_class *cls, na_plugin_addr *addr);
void ucx_addr_free(na_plugin_class *cls, na_plugin_addr *addr);
int32_t ucx_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b);
uint64_t ucx_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr);
int32_t ucx_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p);
int32_t ucx_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p);
int32_t ucx_addr_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_addr **addr_p);

#endif /* UCX_ADDRESS_H */
