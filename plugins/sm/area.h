/* SPDX-License-Identifier: BSD-3-Clause */
/* Areas: memory of na.mem_alloc/1. A peer of the same user that has been given a
 * registration of a whole area maps it, for reading, or for writing where the
 * registration permits that too, and then copies without the kernel. */
#ifndef SM_AREA_H
#define SM_AREA_H

#include "mem.h"
#include "sm.h"

#define SM_CONN_AREAS 64U /* of a peer, mapped at a time */

/* What comes over the socket with the descriptor of an area, or without one if
 * it is not given. A bell is one byte, and so is no such packet. */
struct sm_area_packet {
    uint32_t magic;
    uint32_t access; /* NA_PLUGIN_MEM_*: what the descriptor permits */
    uint64_t id;
    uint64_t length; /* bytes, a multiple of the page */
};

#define SM_AREA_MAGIC 0x31417253U /* "SrA1" */

/* One of a peer's, in conn.areas: asked for, or mapped. */
struct sm_area_seen {
    uint64_t id;
    uint64_t length;
    uint64_t key;           /* of the registration that it was asked for by */
    uint32_t access;        /* that it is wanted for */
    unsigned char *mapping; /* NULL: not there yet, or refused */
};

extern const na_plugin_mem_alloc sm_mem_alloc;

/* Frees all; how many were left. */
uint32_t sm_area_fini(na_plugin_class *cls);

/* A registration that lies in one area notes that, and keeps it; lets it go.
 * [memory] */
void sm_area_join(na_plugin_class *cls, na_plugin_mem *mem);
void sm_area_leave(na_plugin_class *cls, const na_plugin_mem *mem);

/* A peer asks for the area that is the registration with this key, for access
 * NA_PLUGIN_MEM_READ or _WRITE: gives it, or says that it does not.
 * [progress] */
void sm_area_give(
    na_plugin_class *cls, struct sm_conn *conn, uint64_t key, uint32_t access);

/* Whether an area has been asked for that has not come. [progress] */
bool sm_area_any_wanted(struct sm_conn *conn);

/* A packet has come: maps the area if it was asked for and is what it should
 * be. fd stays the caller's, -1 without one. NULL, or what is wrong.
 * [progress] */
const char *sm_area_take(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_area_packet *packet, int fd);

/* Where a peer's area is mapped for this access, NULL if it is not. *ask_p is set
 * if the owner is to be asked for it. [conn->lock] */
unsigned char *sm_area_find(struct sm_conn *conn, const na_plugin_mem *remote,
    uint32_t access, bool *ask_p);

/* Unmaps what a connection has mapped; nobody uses it any more. */
void sm_area_forget(struct sm_conn *conn);

#endif /* SM_AREA_H */
