/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and addresses, and the address functions of the ABI. */
#ifndef SM_ADDRESS_H
#define SM_ADDRESS_H

#include <stddef.h>

#include "class.h"
#include "common/address.h"

struct sm_conn;

/*
 * An address: a name, once per class. The name that a class is bound to for
 * itself alone, "<prefix>-<pid>-<number>", is its unique name. A looked-up name
 * that turns out to be another one of the same peer is an alias of that, and
 * matching and comparing go by the unique name's address.
 */
struct na_plugin_addr {
    /* NULL: not connected. Written under progress and the connection's
     * lock. */
    _Atomic(struct sm_conn *) conn;
    /* Itself, or the unique name's address, of which an alias has a
     * reference. Written under progress. */
    _Atomic(na_plugin_addr *) unique;
    struct tp_addr addr; /* in class.names */
    bool known;          /* was connected; written under progress */
    bool told; /* the log says that nobody is there; written under progress */
    char name[];
};

/* Whether name is valid: 1 to most characters of A-Z a-z 0-9 . _ + -. */
bool sm_name_valid(const char *name, size_t length, size_t most);

/* The process that a unique name says it belongs to; 0 if it is not one. */
uint32_t sm_name_process(const char *name);

/* Frees the table and what is still in it; how many that were. */
uint32_t sm_addr_fini(na_plugin_class *cls);

/* The address of a valid name, one reference, made if there is none. NOMEM.
 * [any thread] */
int32_t sm_addr_get(na_plugin_class *cls, const char *name, size_t length,
    na_plugin_addr **addr_p);

/* addr is an alias of unique from here on; if that is addr: not any more.
 * References are kept as needed. [progress] */
void sm_addr_alias(
    na_plugin_class *cls, na_plugin_addr *addr, na_plugin_addr *unique);

static inline void
sm_addr_hold(na_plugin_class *cls, na_plugin_addr *addr)
{
    tp_addr_hold(&addr->addr, cls->single);
}

/* What messages of this address's peer are matched by. Only to be compared,
 * unless a connection is known to hold it. */
static inline na_plugin_addr *
sm_addr_unique(const na_plugin_addr *addr)
{
    /* acquire: pairs with the release in sm_addr_alias */
    return atomic_load_explicit(&addr->unique, memory_order_acquire);
}

/* Functions of the ABI; the second and third count references for the plugin
 * itself too. [any thread] */
int32_t sm_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p);
int32_t sm_addr_lookup(
    na_plugin_class *cls, const char *name, na_plugin_addr **addr_p);
void sm_addr_dup(na_plugin_class *cls, na_plugin_addr *addr);
void sm_addr_free(na_plugin_class *cls, na_plugin_addr *addr);
void sm_addr_free_single(na_plugin_class *cls, na_plugin_addr *addr);
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
