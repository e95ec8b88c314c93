/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: names, the table that makes equal names one object, and the
 * address functions of the ABI. */
#ifndef SM_ADDRESS_H
#define SM_ADDRESS_H

#include <stddef.h>

#include "sm.h"

/* Whether name can be one: 1 to most characters of A-Z a-z 0-9 . _ + -. */
bool sm_name_valid(const char *name, size_t length, size_t most);

/* The process that a unique name says it belongs to; 0 if it is not one. */
uint32_t sm_name_process(const char *name);

/* The table of a class. NOMEM. */
int32_t sm_addr_init(na_plugin_class *cls);

/* Frees the table and what is still in it; how many that were. */
uint32_t sm_addr_fini(na_plugin_class *cls);

/* The address of this name, one reference, made if there is none. The name must
 * be valid. NOMEM. [any thread] */
int32_t sm_addr_get(na_plugin_class *cls, const char *name, size_t length,
    na_plugin_addr **addr_p);

/* Notes that the peer which addr reaches has this unique name; addr itself:
 * that it is not known any more. References are kept as needed. [progress] */
void sm_addr_unite(
    na_plugin_class *cls, na_plugin_addr *addr, na_plugin_addr *unique);

/* One reference less. [any thread] */
void sm_addr_release(na_plugin_class *cls, na_plugin_addr *addr);

/* One reference more. [any thread] */
static inline void
sm_addr_hold_fast(na_plugin_addr *addr, const bool single)
{
    if (single)
        atomic_store_explicit(&addr->refs,
            atomic_load_explicit(&addr->refs, memory_order_relaxed) + 1,
            memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&addr->refs, 1, memory_order_relaxed);
}

static inline void
sm_addr_hold(na_plugin_class *cls, na_plugin_addr *addr)
{
    sm_addr_hold_fast(addr, cls->single);
}

/* What messages of this address's peer are matched by. Only to be compared,
 * unless a connection is known to hold it. */
static inline na_plugin_addr *
sm_addr_unique(const na_plugin_addr *addr)
{
    /* acquire: pairs with the release in sm_addr_unite */
    return atomic_load_explicit(&addr->unique, memory_order_acquire);
}

/* The functions of the ABI. */
int32_t sm_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p);
int32_t sm_addr_lookup(
    na_plugin_class *cls, const char *name, na_plugin_addr **addr_p);
void sm_addr_dup(na_plugin_class *cls, na_plugin_addr *addr);
void sm_addr_free(na_plugin_class *cls, na_plugin_addr *addr);
int32_t sm_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b);
uint64_t sm_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr);
int32_t sm_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p);
int32_t sm_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p);
int32_t sm_addr_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_addr **addr_p);

#endif /* SM_ADDRESS_H */
