/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects of the plugin. Classes of one communicator share an engine, which
 * owns MPI's requests. One lock, nampi_lock, guards everything: MPI itself has
 * one as well, and the plugin is not made for speed.
 */
#ifndef NAMPI_CLASS_H
#define NAMPI_CLASS_H

#include <mpi.h>

#include "common/address.h"
#include "common/event.h"
#include "common/lock.h"
#include "common/log.h"
#include "common/match.h"
#include "common/memory.h"
#include "common/report.h"
#include "common/system.h"
#include "na_plugin.h"
#include "wire.h"

#define NAMPI_CONTEXTS 64U
#define NAMPI_CLASSES 4095U /* of a process; numbers begin with 1 */
#define NAMPI_SEGMENTS 256U
#define NAMPI_MESSAGE_USUAL 4096U
#define NAMPI_MESSAGE_MAX (1U << 20)
#define NAMPI_CHUNK 65536U  /* of a put or get */
#define NAMPI_WINDOW 32U    /* unexpected messages to a context of a peer */
#define NAMPI_TRANSFERS 16U /* chunks under way to a peer */
#define NAMPI_SENDS 64U     /* messages to a peer that MPI has */
#define NAMPI_LET_OUT_NS TP_SECOND

extern struct tp_lock nampi_lock;

/* A message of which MPI has the bytes. */
struct nampi_send {
    na_plugin_addr *peer; /* one reference; NULL: nobody waits for its end */
    uint32_t length;      /* of data */
    struct nampi_wire head;
    unsigned char data[];
};

/* A message that MPI is bringing. */
struct nampi_arrival {
    struct tp_link link;
    MPI_Request request;
    int rank;
    int size;
    bool here;
    unsigned char bytes[];
};

/* A communicator, and what is under way on it. */
struct nampi_engine {
    struct tp_link link;
    MPI_Comm comm;
    int rank;
    int size;
    bool broken;    /* MPI reports nothing but errors */
    uint32_t users; /* classes, also those being opened */
    uint32_t next;  /* number of a class that wants none */
    struct tp_list classes;
    struct tp_list arrivals; /* in order of their begin */
    uint32_t arriving;
    struct nampi_send **sends; /* sends[i] is what requests[i] sends */
    MPI_Request *requests;
    int *ended; /* room for MPI_Testsome */
    MPI_Status *statuses;
    int count;
    int room;
    int nameless;           /* sends without a peer */
    na_plugin_ctx *polling; /* its events need no wake */
};

struct na_plugin_class {
    struct tp_link link; /* in its engine */
    const na_plugin_host *host;
    struct nampi_engine *engine;
    uint32_t number;
    uint32_t life;
    char protocol[8];
    char text[24]; /* "rank:number" */
    uint32_t max_unexpected;
    uint32_t max_expected;
    uint64_t contact_timeout_ns;
    na_plugin_addr *self;
    struct tp_table peers;
    struct tp_list met;    /* peers written to, or heard of */
    struct tp_list silent; /* peers written to and not heard of, oldest first */
    struct tp_table mems;
    struct tp_table transfers; /* by peer and number */
    uint64_t last_transfer;
    struct tp_random random;
    uint32_t sending; /* messages that MPI has */
    na_plugin_ctx *contexts[NAMPI_CONTEXTS];
    bool known; /* some peer has been met */
    char library[64];
    const char *admitted; /* as peers: "job" */
    struct {
        _Atomic uint64_t sent, received, queued, waited, dropped, strayed,
            malformed, lost, put_bytes, get_bytes;
    } counters;
};

struct na_plugin_ctx {
    na_plugin_class *cls;
    uint32_t id;
    void *core_ctx;
    struct tp_match match;
    struct tp_quota quota;
    struct tp_events events;
    struct tp_list pending; /* operations but receives */
};

enum nampi_state {
    NAMPI_IDLE,
    NAMPI_RECEIVES_UNEXPECTED,
    NAMPI_RECEIVES_EXPECTED,
    NAMPI_WAITS_CREDIT,   /* in peer->uncredited */
    NAMPI_WAITS,          /* in peer->waiting */
    NAMPI_TRANSFERS_MORE, /* in cls->transfers, and peer->transfers */
    NAMPI_TRANSFERS_ALL,  /* all chunks are under way */
};

/* The plugin's part of an operation. */
struct nampi_op {
    struct tp_recv recv;    /* keyed: of a transfer, in cls->transfers */
    struct tp_link queued;  /* in a list of the peer */
    struct tp_link pending; /* in the context's list */
    na_plugin_ctx *ctx;
    na_plugin_addr *peer;
    enum nampi_state state;
    uint8_t kind; /* NAMPI_UNEXPECTED, _EXPECTED, _PUT or _GET */
    uint8_t peer_ctx;
    uint32_t tag;
    const na_plugin_mem *local;
    uint64_t memory; /* the peer's number */
    uint64_t local_offset;
    uint64_t remote_offset;
    uint64_t length;
    uint64_t asked; /* bytes that are under way, or further */
    uint64_t ended;
};

/* A class of a process, as peer of one class here. */
struct na_plugin_addr {
    struct tp_addr addr;
    na_plugin_class *cls;
    struct {
        uint32_t rank, number;
    } name;
    uint32_t life;     /* 0: not heard of */
    bool met;          /* in cls->met, which has a reference */
    bool greeted;      /* it has been answered */
    bool silent;       /* in cls->silent: greeted, and not heard of */
    uint64_t since_ns; /* of the silence */
    uint64_t again_ns; /* when to greet again; 0: an answer is to come */
    struct tp_link meeting;
    struct tp_link silence;
    uint32_t sending; /* messages that MPI has */
    uint32_t chunks;  /* of ours that it has not answered */
    uint32_t answers; /* to chunks of it that MPI has */
    struct tp_list waiting;
    struct tp_list uncredited;
    struct tp_list transfers;     /* with chunks that are not under way */
    uint8_t used[NAMPI_CONTEXTS]; /* of the window of each of its contexts */
    uint8_t kept[NAMPI_CONTEXTS]; /* messages of it in queues here */
    uint8_t owed[NAMPI_CONTEXTS]; /* received, and not told yet */
};

struct na_plugin_mem {
    struct tp_mem mem;
    na_plugin_segment segments[];
};

static inline struct nampi_op *
nampi_op_of_queued(struct tp_link *link)
{
    return TP_OBJECT(link, struct nampi_op, queued);
}

#endif /* NAMPI_CLASS_H */
