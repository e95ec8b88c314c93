/* SPDX-License-Identifier: BSD-3-Clause */
/* Emulated puts and gets, where the kernel permits neither side to copy from or to
 * the other: the owner of the memory is asked by records in the ring, checks each
 * of them against its registrations, and copies. */
#ifndef SM_EMULATED_RMA_H
#define SM_EMULATED_RMA_H

#include "conn.h"
#include "context.h"

#define SM_REQUESTS 64U /* that a peer may have waiting */

/* What is at the front of a record's payload; data follows. */
enum sm_rma_verb {
    SM_RMA_GET = 1,    /* wants length bytes; answered by DATA */
    SM_RMA_PUT = 2,    /* brings them; the last one, or a wrong one, answered by
                        DONE */
    SM_RMA_DATA = 3,   /* brings bytes of a get, or a status */
    SM_RMA_DONE = 4,   /* status of a put */
    SM_RMA_MAP = 5,    /* wants to map the shared segment that registration mem
                        is, to write to it if last is set; it is passed over
                        the socket */
    SM_RMA_ASSIST = 6, /* is getting length bytes, and invites the owner to copy
                          some of them; sm_range_place follows */
    SM_RMA_ASSIST_PUT = 7, /* the same of a put */
};

struct sm_rma_record {
    uint8_t verb;
    uint8_t last;     /* PUT, MAP */
    uint8_t reply_to; /* GET, PUT: the requester's context */
    uint8_t zero;
    int32_t status;  /* DATA, DONE */
    uint64_t number; /* of the operation, the requester's */
    uint64_t mem;    /* GET, PUT, MAP, ASSIST: id of the registration */
    uint64_t offset; /* into that */
    uint32_t length; /* bytes of data wanted or brought */
    uint32_t zero_too;
};

static_assert(sizeof(struct sm_rma_record) == 40, "layout");

/* A peer's request, until there is room for the answer. */
struct sm_request {
    struct sm_rma_record answer; /* as it will be sent */
    uint64_t mem;                /* DATA: where the bytes come from */
    uint64_t offset;
    uint8_t target; /* context */
};

/* Takes an operation over, which is in no list and not being copied.
 * [progress, ctx->lock] */
void sm_emulated_add(
    na_plugin_class *cls, struct sm_conn *conn, struct sm_op *op);

/* Asks a peer for the shared segment that the operation's remote registration is,
 * for access NA_PLUGIN_MEM_READ or _WRITE. [conn->lock] */
void sm_emulated_want_segment(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_op *op, uint32_t access);

/* Sends a request with more bytes behind it, for any context; false: there is no
 * room. [conn->lock] */
bool sm_emulated_send(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_rma_record *record, const void *more, uint32_t length,
    uint8_t peer_ctx);

/* A record of kind SM_RING_RMA has arrived. NULL, or what is wrong with it.
 * [progress, and no lock of a context] */
const char *sm_emulated_take(na_plugin_class *cls, struct sm_conn *conn,
    const unsigned char *payload, uint32_t length);

/* Sends what there is room for. [progress] */
void sm_emulated_flush(na_plugin_class *cls);

/* Takes an operation out; false if it has ended. [no lock] */
bool sm_emulated_withdraw(na_plugin_class *cls, struct sm_op *op);

/* Takes all operations of a context out, without events. [progress] */
void sm_emulated_abandon(na_plugin_ctx *ctx);

/* The connection ends, and its operations with it. [progress] */
void sm_emulated_end(
    na_plugin_class *cls, struct sm_conn *conn, int32_t status);

/* Before sleeping: asks for a wake-up where room is lacking; whether there is
 * some now. [progress] */
bool sm_emulated_arm(na_plugin_class *cls);

#endif /* SM_EMULATED_RMA_H */
