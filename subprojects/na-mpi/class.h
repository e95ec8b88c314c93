/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects of the plugin. Classes of one communicator share an engine, which
 * owns MPI's requests. One lock, nampi_lock, guards everything: MPI itself has
 * one as well, and the plugin is not made for speed.
 */
#ifndef NAMPI_CLASS_H
#define NAMPI_CLASS_H

#include <mpi.h>

#include "common/log.h"
#include "common/transport.h"
#include "wire.h"

#define NAMPI_CONTEXTS 64U
#define NAMPI_CLASSES 4095U /* of a process; numbers begin with 1 */
#define NAMPI_MESSAGE_USUAL 4096U
#define NAMPI_MESSAGE_MAX (1U << 20)
#define NAMPI_FRAGMENT 65536U /* of a put or get */
#define NAMPI_SENDS 64U       /* messages to a peer that MPI has */

extern struct tp_lock nampi_lock;

/* A message of which MPI has the bytes. */
struct nampi_send {
    na_plugin_class *cls; /* NULL: it is closed, or the message is nobody's */
    struct nampi_channel *channel; /* NULL: nobody waits for its end */
    uint32_t length;               /* behind the header */
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
    bool stopped;   /* nothing is sent or delivered: see drain.h */
    int64_t begun;  /* messages that MPI has been given */
    int64_t taken;  /* messages that were received */
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
    int nameless; /* sends without a class */
};

struct na_plugin_class {
    struct tp_transport base;
    struct tp_link link; /* in its engine */
    struct nampi_engine *engine;
    uint32_t number;
    uint32_t life;
    bool known;              /* some peer has been written to, or heard of */
    bool closing;            /* nobody may connect any more */
    bool stuck;              /* something could not be sent: no memory */
    struct tp_table by_name; /* channels, by rank and number */
    uint32_t sending;        /* messages that MPI has */
    const char *text;        /* "rank:number" */
    char library[64];
    const char *admitted;              /* as peers: "job" */
    _Atomic uint64_t malformed, names; /* messages; addresses */
};

/* A class of a process, as peer of one class here. */
struct na_plugin_addr {
    struct tp_peer base;
    uint32_t rank;
    uint32_t number;
};

/* What this class and a peer know of each other. */
struct nampi_channel {
    struct tp_channel base;
    struct tp_keyed by_name;
    uint32_t rank;
    uint32_t number;
    uint32_t life;     /* 0: not heard of */
    bool gone;         /* it need not be told */
    uint64_t again_ns; /* when to greet again; 0: an answer is to come */
    uint32_t sending;  /* messages that MPI has */
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
