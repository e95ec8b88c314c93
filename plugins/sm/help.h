/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets where the kernel permits neither side to reach into the other:
 * the owner of the memory is asked by records in the ring, checks each of them
 * against its registrations, and copies. */
#ifndef SM_HELP_H
#define SM_HELP_H

#include "sm.h"

#define SM_JOBS 64U /* that a peer may have waiting */

/* What stands at the front of a record's payload; data follows. */
enum sm_help_verb {
    SM_HELP_GET = 1,  /* wants length bytes; answered by DATA */
    SM_HELP_PUT = 2,  /* brings them; the last one, or a wrong one, answered by
                        DONE */
    SM_HELP_DATA = 3, /* brings bytes of a get, or a status */
    SM_HELP_DONE = 4, /* status of a put */
    SM_HELP_AREA = 5, /* wants to map the area that registration mem is, to
                         write to it if last is set; it comes over the socket */
};

struct sm_help {
    uint8_t verb;
    uint8_t last;     /* PUT, AREA */
    uint8_t reply_to; /* GET, PUT: the asker's context */
    uint8_t zero;
    int32_t status;  /* DATA, DONE */
    uint64_t number; /* of the operation, the asker's */
    uint64_t mem;    /* GET, PUT, AREA: key of the registration */
    uint64_t offset; /* GET, PUT: into that; DATA: into the operation */
    uint32_t length; /* bytes of data wanted or brought */
    uint32_t zero_too;
};

static_assert(sizeof(struct sm_help) == 40, "layout");

/* An answer that waits for room. */
struct sm_job {
    struct sm_help help; /* as it will be sent */
    uint64_t mem;        /* DATA: where the bytes come from */
    uint64_t offset;
    uint8_t target; /* context */
};

/* Takes an operation on: no slice of it is being done, and it stands in no list.
 * [progress, ctx->lock] */
void sm_help_adopt(
    na_plugin_class *cls, struct sm_conn *conn, struct sm_op *op);

/* Asks a peer for the area that the operation's remote registration is, for
 * access NA_PLUGIN_MEM_READ or _WRITE. [conn->lock] */
void sm_help_want_area(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_op *op, uint32_t access);

/* A record of kind SM_RING_HELP has come. NULL, or what is wrong with it.
 * [progress, and no lock of a context] */
const char *sm_help_take(na_plugin_class *cls, struct sm_conn *conn,
    const unsigned char *payload, uint32_t length);

/* Sends what there is room for. [progress] */
void sm_help_flush(na_plugin_class *cls);

/* Takes an operation out; false if it has ended. [no lock] */
bool sm_help_withdraw(na_plugin_class *cls, struct sm_op *op);

/* Takes all operations of a context out, without events. [progress] */
void sm_help_abandon(na_plugin_ctx *ctx);

/* The connection has ended: so do its operations. [progress] */
void sm_help_end(na_plugin_class *cls, struct sm_conn *conn, int32_t status);

/* Before sleeping: wants the bell where room is lacking; whether there is some
 * now. [progress] */
void sm_help_ask(na_plugin_class *cls);
bool sm_help_ready(na_plugin_class *cls);

#endif /* SM_HELP_H */
