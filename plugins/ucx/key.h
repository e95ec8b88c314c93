/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of UCX: registered memory packed for peers, and unpacked for an
 * endpoint; and memory that UCX allocates, which peers can map. */
#ifndef UCX_KEY_H
#define UCX_KEY_H

#include "conn.h"
#include "memory.h"

/* A remote registration's keys for one connection. */
struct ucx_keyring {
    struct tp_link link;      /* in mem.rings */
    struct ucx_keyring *next; /* of the connection */
    na_plugin_mem *mem;
    struct ucx_conn *conn;
    bool native; /* UCX reaches all segments by itself */
    uint32_t count;
    ucp_rkey_h keys[];
};

/* Registers an own registration's segments with UCX, and packs their keys, where
 * some peer could use them. What UCX refuses is reached by messages. [lock] */
void ucx_key_map(na_plugin_class *cls, na_plugin_mem *mem);

/* Takes that back. [lock] */
void ucx_key_unmap(na_plugin_class *cls, na_plugin_mem *mem);

/* Whether the packed keys have the form that ucx_key_map gives them. */
bool ucx_key_sound(const na_plugin_mem *mem);

/* The keys of a remote registration for a connection, NULL if UCX does not
 * reach it by itself there. [lock] */
struct ucx_keyring *ucx_key_ring(struct ucx_conn *conn, na_plugin_mem *mem);

/* The registration is freed; the connection's endpoint goes. [lock] */
void ucx_key_forget_mem(na_plugin_mem *mem);
void ucx_key_forget_conn(struct ucx_conn *conn);

/* Frees areas that were not. */
void ucx_key_fini(na_plugin_class *cls);

extern const na_plugin_mem_alloc ucx_mem_alloc;

#endif /* UCX_KEY_H */
