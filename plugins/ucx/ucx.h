/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's objects: class, context, address, peer, connection, operation.
 * The class's lock guards all that is not said to be constant or atomic. */
#ifndef UCX_H
#define UCX_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>

#include "list.h"
#include "lock.h"
#include "log.h"
#include "na_plugin.h"
#include "random.h"
#include "wire.h"

#define UCX_PLUGIN_VERSION "0.1.0"

#define UCX_CONTEXTS 256U /* numbers of contexts: a byte in a header */
#define UCX_TAG_MAX UINT32_MAX
#define UCX_SEGMENTS 1024U /* of a registration */
#define UCX_MESSAGE_DEFAULT 4096U
#define UCX_MESSAGE_MAX 65536U
#define UCX_PIECE 61440U  /* bytes of a put or get in one message */
#define UCX_NAME_MAX 127U /* of the text of an address, protocol and all */
#define UCX_EXPIRE_NS UINT64_C(20000000) /* between looks at all deadlines */

/* What an operation is, and where it stands. An operation that was done within
 * its submission is never written to, and stays idle. */
enum ucx_kind {
    UCX_OP_NONE, /* zeroed memory */
    UCX_OP_RECV_UNEXPECTED,
    UCX_OP_RECV_EXPECTED,
    UCX_OP_SEND,
    UCX_OP_SEND_SELF,
    UCX_OP_PUT,
    UCX_OP_GET,
};

enum ucx_state {
    UCX_OP_IDLE,   /* zeroed memory, or its final event has been reported */
    UCX_OP_POSTED, /* in a list or table that its kind tells */
    UCX_OP_READY,  /* has ended: in the ready list */
    UCX_OP_BUSY,   /* put, get: UCX has it */
};

struct ucx_conn;
struct ucx_peer;

/* The plugin's part of an operation, behind the room that UCX wants for its own
 * (ucx_op_of). */
struct ucx_op {
    alignas(64) struct ucx_link link;
    na_plugin_ctx *ctx;
    void *buffer; /* a send only reads it */
    uint64_t length;
    uint8_t kind;          /* enum ucx_kind */
    _Atomic uint8_t state; /* enum ucx_state */
    uint8_t peer_ctx;
    bool unexpected;       /* send */
    bool failed;           /* put, get: a part of it has, with result.status */
    uint32_t tag;          /* send */
    struct ucx_conn *conn; /* send, put, get; NULL: none yet, or to oneself */
    uint64_t deadline_ns;  /* send */
    struct {
        const na_plugin_mem *local;
        const na_plugin_mem *remote;
        uint64_t local_offset;
        uint64_t remote_offset;
        uint64_t asked; /* bytes that pieces have been sent for; by UCX: parts
                           that have not come back */
        uint64_t done;  /* bytes that have been answered */
    } rma;
    na_plugin_event result;
};

static inline enum ucx_state
ucx_op_state(const struct ucx_op *op)
{
    return atomic_load_explicit(&op->state, memory_order_relaxed);
}

static inline void
ucx_op_set(struct ucx_op *op, enum ucx_state state)
{
    atomic_store_explicit(&op->state, (uint8_t) state, memory_order_relaxed);
}

/* A message that waits for its receive. */
struct ucx_kept {
    struct ucx_link link;
    struct ucx_kept *older; /* kept expected messages: in order of age */
    struct ucx_kept *newer;
    na_plugin_addr *from; /* one reference */
    uint64_t token;       /* of the connection that gets its room back */
    uint32_t length;
    uint32_t tag;
    unsigned char data[];
};

/* What UCX is sending: a header and a copy of the data, the plugin's own, so
 * that no operation has to wait for UCX to let go of a buffer. */
struct ucx_parcel {
    struct ucx_link link;  /* in class.spare_*, or in conn.parcels */
    struct ucx_conn *conn; /* NULL: it came back while being handed over */
    uint32_t length;       /* of data */
    uint32_t room;         /* of data, as allocated */
    bool answer;           /* of a peer's get or put */
    union ucx_header header;
    alignas(64) unsigned char data[];
};

/*
 * A peer: a class, by its number, once a connection has told it. An address is
 * a name; several may lead to one peer.
 */
struct ucx_peer {
    struct ucx_link link;  /* in class.peers, by number */
    uint32_t refs;         /* addresses and connections */
    struct ucx_conn *main; /* what is sent by; NULL: none */
    struct ucx_list conns; /* all that are up (struct ucx_conn.of_peer) */
    na_plugin_addr *addr;  /* how it is reported, one of addrs; NULL: none */
    na_plugin_addr *addrs; /* all that lead to it, without references */
    uint64_t process;      /* as its hello says */
};

struct na_plugin_addr {
    _Atomic uint32_t refs;
    na_plugin_addr *next;      /* in the class's table of names */
    struct ucx_peer *peer;     /* one reference; NULL: not known (now) */
    na_plugin_addr *peer_next; /* in peer.addrs */
    struct ucx_conn *call;     /* a connection being made to it, NULL: none */
    struct sockaddr_storage where;
    socklen_t where_length; /* 0: it cannot be called */
    uint32_t hash;
    bool named;                  /* stands in the table of names */
    char name[UCX_NAME_MAX + 1]; /* "" if it has no string */
};

/* The last message by a connection: that nothing more comes, and, once the
 * peer's has been heard, that too. */
enum ucx_bye {
    UCX_BYE_NONE,
    UCX_BYE_SAID,
    UCX_BYE_ANSWERED,
};

enum ucx_conn_state {
    UCX_CONN_CALLING, /* ours; said hello, no answer yet */
    UCX_CONN_CALLED,  /* the peer's; no hello yet */
    UCX_CONN_UP,
    UCX_CONN_CLOSED, /* UCX still has parcels of it */
};

struct ucx_conn {
    struct ucx_link link; /* in class.conns or .closed */
    struct ucx_link of_peer_link;
    na_plugin_class *cls;
    ucp_ep_h ep;
    uint8_t state;    /* enum ucx_conn_state */
    bool ours;        /* this class called */
    bool failed;      /* to be ended when UCX has returned: in class.failed */
    bool dirty;       /* in class.dirty */
    bool retiring;    /* nothing new is sent by it: there is a better one */
    uint8_t bye_sent; /* enum ucx_bye */
    bool bye_heard;
    bool bye_answered; /* the peer has heard ours */
    bool rma_known;    /* whether this is known: */
    bool rma_native;   /* UCX has a lane for puts and gets */
    bool rma_reach; /* of all that is registered, not only of mapped memory */
    int32_t error;  /* failed: with what operations end */
    struct ucx_conn *next_failed;
    struct ucx_conn *next_dirty;
    struct sockaddr_storage client; /* who called */
    struct ucx_peer *peer;          /* one reference; NULL before hello */
    na_plugin_addr *addr;           /* one reference; called, or how the peer is
                              reported; NULL: the peer called, no hello */
    uint64_t token;                 /* what messages by it to us carry */
    uint64_t peer_token;            /* what ours carry */
    uint64_t serial;                /* counts the calls of who made it */
    uint64_t deadline_ns; /* CALLING, CALLED, or retiring: when to give up */
    char peer_name[UCX_NAME_MAX + 1]; /* who it is, for the log */

    struct ucx_list queue;   /* sends that wait for room */
    struct ucx_list parcels; /* what UCX is sending */
    uint64_t parcel_bytes;
    uint32_t answers; /* parcels that answer the peer's puts and gets */
    uint64_t window;  /* bytes of unexpected messages the peer has room for */
    uint64_t used;    /* of these: not given back yet */
    uint64_t kept;    /* bytes of its unexpected messages that we keep */
    uint64_t owed;    /* room to be given back to it */
    bool seen;        /* a message has come; before that UCX opens things */
    bool unheard;     /* something was sent since we last heard of it */

    struct ucx_list rma; /* puts and gets by messages that are not all sent */
    struct ucx_list rma_sent; /* and those that only wait for answers */
    uint32_t pieces;          /* sent, and not answered */
    uint32_t quiet;           /* pieces of puts since an answer was wanted */
    struct ucx_piece put;     /* the peer's: done, and not answered yet */
    uint64_t refused;         /* number of the peer's put that failed */
    struct ucx_list flying;   /* the operations */
    struct ucx_keyring *keys; /* remote keys unpacked for this endpoint */
};

struct na_plugin_ctx {
    na_plugin_class *cls;
    void *core_ctx;
    uint32_t id;
    struct ucx_list ready; /* operations with their results */
    uint32_t ready_count;
    struct ucx_list recvs;   /* posted for unexpected messages */
    struct ucx_table posted; /* posted for expected messages */
    struct ucx_list queue;   /* unexpected messages (struct ucx_kept) */
    uint64_t queue_self;     /* bytes of those that this class sent */
    struct ucx_table early;  /* expected messages without a receive */
    struct ucx_kept *oldest; /* of early */
    struct ucx_kept *newest;
    uint64_t early_bytes;
    bool armed;     /* sleeps, or is about to */
    bool bell_rung; /* bell is readable */
    int wait_fd;    /* epoll: the worker's descriptor and bell; -1: none */
    int bell;       /* eventfd */
};

struct ucx_counters {
    _Atomic uint64_t sent;
    _Atomic uint64_t received;
    _Atomic uint64_t self;
    _Atomic uint64_t copied; /* sends that UCX did not take at once */
    _Atomic uint64_t queued;
    _Atomic uint64_t dropped;
    _Atomic uint64_t strayed;
    _Atomic uint64_t malformed;
    _Atomic uint64_t stalls;
    _Atomic uint64_t connects;
    _Atomic uint64_t losses;
    _Atomic uint64_t retired;
    _Atomic uint64_t broken;
    _Atomic uint64_t put_bytes;
    _Atomic uint64_t get_bytes;
    _Atomic uint64_t native_bytes;
    _Atomic uint64_t message_bytes;
    _Atomic uint64_t self_bytes;
    _Atomic uint64_t conns;
};

static inline void
ucx_count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_store_explicit(counter,
        atomic_load_explicit(counter, memory_order_relaxed) + more,
        memory_order_relaxed);
}

struct na_plugin_class {
    /* constant after open */
    const na_plugin_host *host;
    bool single;
    bool listens;
    bool no_block;
    int family; /* of its own address, and those that it calls */
    uint32_t max_unexpected;
    uint32_t max_expected;
    uint64_t window;
    uint64_t connect_ns;
    uint64_t send_ns;
    uint64_t number;      /* random, tells classes apart */
    uint32_t op_front;    /* bytes of an operation that are UCX's */
    char protocol[64];    /* the scheme of names */
    char tls[192];        /* UCX's transports, "" if it chooses */
    char devices[128];    /* and devices */
    bool loopback;        /* UCX has the loopback interface only */
    bool network_trusted; /* the administrator says so */
    bool keys; /* registrations are told to UCX: some transport may want that */
    na_plugin_addr *self;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_listener_h listener;
    int worker_fd; /* -1: no waiting */

    struct ucx_counters counters; /* written under lock */
    uint64_t unsaid;              /* callers that did not say who they are */

    alignas(64) struct ucx_lock lock;
    na_plugin_ctx *contexts[UCX_CONTEXTS];
    uint32_t armed;    /* contexts that are */
    bool stirred;      /* UCX was given something: who sleeps has to look */
    uint64_t now_ns;   /* when the clock was last looked at */
    uint64_t first_ns; /* no deadline is earlier */
    uint32_t polls;    /* since then */
    uint8_t marks_due; /* looks at all deadlines until UCX's descriptors are
                          marked; 0: they are */
    struct ucx_list conns;
    struct ucx_list closed;
    struct ucx_conn *failed;
    struct ucx_conn *dirty;  /* have something to be done by ucx_conn_work */
    uint32_t called;         /* connections without a hello */
    struct ucx_conn **slots; /* connections by token */
    uint32_t slots_room;
    uint32_t slots_used;
    uint64_t serial;      /* calls made */
    struct ucx_list held; /* sends to oneself without room */
    struct ucx_table peers;
    na_plugin_addr **names;
    uint32_t names_bits;
    uint32_t names_count;
    uint32_t addrs;        /* all there are */
    struct ucx_table mems; /* registrations by their number */
    struct ucx_random random;
    struct ucx_list areas; /* memory that UCX has allocated */
    uint64_t rma_serial;
    struct ucx_list spare_small; /* parcels */
    struct ucx_list spare_large;
    uint32_t spare_larges;
};

static inline struct ucx_op *
ucx_op_of(const na_plugin_class *cls, void *op)
{
    return (struct ucx_op *) ((char *) op + cls->op_front);
}

static inline void *
ucx_op_name(const na_plugin_class *cls, struct ucx_op *op)
{
    return (char *) op - cls->op_front;
}

/* Nanoseconds of a clock that only goes on. */
uint64_t ucx_now(void);

/* There is a deadline; it, for whom it concerns. */
static inline uint64_t
ucx_deadline(na_plugin_class *cls, uint64_t deadline_ns)
{
    if (deadline_ns < cls->first_ns)
        cls->first_ns = deadline_ns;
    return deadline_ns;
}

#endif /* UCX_H */
