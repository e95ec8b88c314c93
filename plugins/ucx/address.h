/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: a name is one object; whom it reaches is known when a connection
 * has told. */
#ifndef UCX_ADDRESS_H
#define UCX_ADDRESS_H

#include "ucx.h"

int32_t ucx_addr_init(na_plugin_class *cls);

/* Frees what is left; how many addresses that was. */
uint32_t ucx_addr_fini(na_plugin_class *cls);

static inline void
ucx_addr_hold(na_plugin_addr *addr)
{
    atomic_fetch_add_explicit(&addr->refs, 1, memory_order_relaxed);
}

/* Drops a reference. [lock] */
void ucx_addr_release(na_plugin_class *cls, na_plugin_addr *addr);

/* The address with this name, found or made, one reference: a numeric
 * "protocol://host:port" as ucx_where_text writes it. NULL: no memory. [lock] */
na_plugin_addr *ucx_addr_get(na_plugin_class *cls, const char *name,
    const struct sockaddr_storage *where, socklen_t length);

/* An address that has no string and is not to be found. [lock] */
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

/* Settles how many bytes go out: OK with room for them, or with no buffer. */
int32_t ucx_settle_size(const void *buffer, uint64_t *size_p, uint64_t need);

#endif /* UCX_ADDRESS_H */
