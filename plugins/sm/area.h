/* SPDX-License-Identifier: BSD-3-Clause */
/* Areas: memory of na.mem_alloc/1, which peers map and then copy from and to
 * without the kernel. */
#ifndef SM_AREA_H
#define SM_AREA_H

#include "mem.h"
#include "sm.h"

#define SM_CONN_AREAS 64U /* of a peer, mapped at a time */

/* What comes over the socket with the descriptor of an area, or without one if
 * it is not given. A bell is one byte, and so is no such packet. */
struct sm_area_packet {
    uint32_t magic;
    uint32_t zero;
    uint64_t id;
    uint64_t length; /* bytes, a multiple of the page */
};

#define SM_AREA_MAGIC 0x31417253U /* "SrA1" */

/* One of a peer's, in conn.areas. */
struct sm_area_seen {
    uint64_t id;
    uint64_t length;
    unsigned char *mapping; /* NULL: asked for, or refused */
};

extern const na_plugin_mem_alloc sm_mem_alloc;

/* Frees all; how many were left. */
uint32_t sm_area_fini(na_plugin_class *cls);

/* A registration that lies in one area notes that, and keeps it; lets it go.
 * [memory] */
void sm_area_join(na_plugin_class *cls, na_plugin_mem *mem);
void sm_area_leave(na_plugin_class *cls, const na_plugin_mem *mem);

/* Gives a peer an area, if a registration lies in it. [progress] */
void sm_area_give(na_plugin_class *cls, struct sm_conn *conn, uint64_t id);

/* A packet has come: maps the area if it was asked for and is what it should
 * be. fd stays the caller's, -1 without one. NULL, or what is wrong.
 * [progress] */
const char *sm_area_take(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_area_packet *packet, int fd);

/* Where a peer's area is mapped, NULL if it is not. The first time *ask_p is
 * set: it is to be asked for. [conn->lock] */
unsigned char *sm_area_find(
    struct sm_conn *conn, const na_plugin_mem *remote, bool *ask_p);

/* Unmaps what a connection has mapped; nobody uses it any more. */
void sm_area_forget(struct sm_conn *conn);

#endif /* SM_AREA_H */
