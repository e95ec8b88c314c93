/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects of the plugin. All classes on one communicator share an engine,
 * which owns the MPI requests. One lock per process, nampi_lock, guards all of
 * these objects; a lock per class would gain little, since MPI has one of its
 * own.
 */
#ifndef NAMPI_CLASS_H
#define NAMPI_CLASS_H

#include <mpi.h>

#include "common/log.h"
#include "common/transport.h"
#include "wire.h"

#define NAMPI_CONTEXTS 64U        /* of a class */
#define NAMPI_CLASSES 4095U       /* the highest number of a class */
#define NAMPI_MESSAGE_USUAL 4096U /* longest message by default */
#define NAMPI_MESSAGE_MAX (1U << 20)
#define NAMPI_FRAGMENT 65536U /* bytes of a put or get in one message */
#define NAMPI_SENDS 64U       /* incomplete MPI_Isends of one channel */

extern struct tp_mutex nampi_lock;

/* A message and the MPI_Isend that sends it. */
struct nampi_send {
    na_plugin_class *cls;          /* NULL: orphaned, see nampi_engine */
    struct nampi_channel *channel; /* to flush on completion; NULL: none */
    uint32_t length;               /* bytes of data, without the header */
    struct nampi_wire head;
    unsigned char data[];
};

/* A message that MPI_Imrecv is receiving. */
struct nampi_arrival {
    struct tp_link link;
    MPI_Request request;
    int rank;
    int size; /* bytes */
    bool complete;
    unsigned char bytes[];
};

/* A communicator and its incomplete sends and receives. */
struct nampi_engine {
    struct tp_link link;
    MPI_Comm comm;
    int rank;
    int size;     /* ranks */
    bool broken;  /* an MPI call or an allocation failed; all classes fail */
    bool stopped; /* received messages are dropped, sends fail: see drain.h */
    int64_t sent; /* messages; without those that MPI could not send */
    int64_t received; /* messages */
    uint32_t users;   /* classes, including those being opened */
    uint32_t next;    /* number for the next class that asks for none */
    struct tp_list classes;
    struct tp_list arrivals; /* in the order in which MPI_Improbe found them */
    uint32_t arriving;       /* length of arrivals */
    struct nampi_send **sends; /* sends[i] is sent by requests[i] */
    MPI_Request *requests;
    int *completed; /* arguments of MPI_Testsome */
    MPI_Status *statuses;
    int count;   /* incomplete sends */
    int room;    /* allocated elements of each of the four arrays */
    int orphans; /* sends of closed classes, and answers to unknown classes */
};

struct na_plugin_class {
    struct tp_transport base;
    struct tp_link link; /* in engine->classes */
    struct nampi_engine *engine;
    uint32_t number;   /* 1 to NAMPI_CLASSES, unique in the engine */
    uint32_t instance; /* random, see nampi_wire */
    bool contacted;    /* it has had a channel: peers may know its number */
    bool closing;      /* messages are answered by NAMPI_GONE */
    bool needs_flush;  /* a send failed; the next poll flushes all channels */
    struct tp_table by_name;    /* channels, by rank and class number */
    uint32_t sending;           /* incomplete sends */
    const char *text;           /* "rank:number", for the report */
    char library[64];           /* name and version of the MPI library */
    const char *admitted;       /* which peers may connect: "job" */
    _Atomic uint64_t malformed; /* messages */
    _Atomic uint64_t names;     /* malformed addresses from peers */
};

/* The address of a class: rank and number. */
struct na_plugin_addr {
    struct tp_peer base;
    uint32_t rank;
    uint32_t number;
};

/* The connection of a class to a peer, a class of some process. */
struct nampi_channel {
    struct tp_channel base;
    struct tp_keyed by_name;
    uint32_t rank; /* the peer's */
    uint32_t number;
    uint32_t instance; /* 0: the peer has not answered yet */
    bool peer_closed;  /* the peer has closed it: no NAMPI_BYE */
    uint64_t retry_ns; /* when to send the hello again; 0: not planned */
    uint32_t sending;  /* incomplete sends */
};

static inline struct nampi_channel *
nampi_channel_of(struct tp_channel *channel)
{
    return TP_OBJECT(channel, struct nampi_channel, base);
}

static inline na_plugin_class *
nampi_class_of(struct tp_link *link)
{
    return TP_OBJECT(link, na_plugin_class, link);
}

#endif /* NAMPI_CLASS_H */
