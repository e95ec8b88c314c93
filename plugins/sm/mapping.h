/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared segments between peers: asked for, passed, mapped. */
#ifndef SM_MAPPING_H
#define SM_MAPPING_H

#include "conn.h"
#include "registration.h"

#define SM_CONN_MAPPINGS 64U /* of a peer, mapped at a time */

/* What arrives over the socket with the descriptor of a segment, or without one
 * if it is not given. A wake-up is one byte. */
struct sm_mapping_packet {
    uint32_t magic;
    uint32_t access; /* NA_PLUGIN_MEM_*: what the descriptor permits */
    uint64_t id;
    uint64_t length; /* bytes, a multiple of the page */
};

#define SM_MAPPING_MAGIC 0x31417253U /* "SrA1" */

/* One of a peer's, in conn.mappings: asked for, or mapped. */
struct sm_mapping {
    uint64_t id;
    uint64_t length;
    uint64_t key;          /* id of the registration that it was asked for by */
    uint32_t access;       /* that it is wanted for */
    unsigned char *memory; /* NULL: not there yet, or refused */
};

/* A peer asks for the shared segment that is the registration with this id, for
 * access NA_PLUGIN_MEM_READ or _WRITE: passes it, if it permits that.
 * [progress] */
void sm_mapping_give(
    na_plugin_class *cls, struct sm_conn *conn, uint64_t key, uint32_t access);

/* Whether a segment has been asked for that has not arrived. [progress] */
bool sm_mapping_any_wanted(struct sm_conn *conn);

/* A packet has arrived: maps the segment if it was asked for and is what it should
 * be. fd stays the caller's, -1 without one. NULL, or what is wrong.
 * [progress] */
const char *sm_mapping_take(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_mapping_packet *packet, int fd);

/* Where a peer's segment is mapped for this access, NULL if it is not. *ask_p is set
 * if the owner is to be asked for it. [conn->lock] */
unsigned char *sm_mapping_find(struct sm_conn *conn,
    const na_plugin_mem *remote, uint32_t access, bool *ask_p);

/* Unmaps what a connection has mapped; it is not in use any more. */
void sm_mapping_forget(struct sm_conn *conn);

#endif /* SM_MAPPING_H */
