/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of the transport. One lock of the class guards all of them; "lock
 * held" below means that one. README.md beside this file is the overview. */
#ifndef TCP_H
#define TCP_H

#include "common/address.h"
#include "common/event.h"
#include "common/host.h"
#include "common/lock.h"
#include "common/log.h"
#include "common/match.h"
#include "common/memory.h"
#include "common/report.h"
#include "common/system.h"
#include "common/wake.h"

#define TCP_PROTOCOL "stream" /* tcp+stream://host:port */
#define TCP_SEGMENTS 256U     /* of one registration */
#define TCP_MESSAGE 16384U    /* bytes of a message, unless others are wanted */
#define TCP_MESSAGE_MOST (1U << 20)
#define TCP_FRAGMENT (128U << 10) /* bytes of a put or get in one frame */
#define TCP_REQUESTS 16U          /* unanswered frames of puts and gets */

enum tcp_kind {
    TCP_HELLO = 1,  /* the first one in each direction */
    TCP_UNEXPECTED, /* a message */
    TCP_EXPECTED,
    TCP_CREDIT, /* tag: bytes of unexpected messages that may be sent again */
    TCP_PUT,    /* a fragment; ANSWER follows, as to GET */
    TCP_GET,    /* tag: bytes wanted */
    TCP_ANSWER, /* to a fragment; of a get with its bytes */
};

/* What is sent: a frame, little-endian, and behind it length bytes. */
struct tcp_frame {
    uint32_t length;
    uint8_t kind;
    uint8_t to; /* contexts */
    uint8_t from;
    uint8_t request; /* of the sender of PUT and GET, also in the ANSWER */
    uint32_t tag;
    int32_t status; /* of ANSWER */
    uint64_t key;   /* of the registration */
    uint64_t offset;
};

/* A frame to be sent. It lies in an operation, or is freed when it was sent. */
struct tcp_packet {
    struct tp_link link;
    struct tp_list *list; /* a list of the connection; NULL: in none */
    struct tcp_op *op;
    struct tcp_frame frame; /* as it goes out */
    const void *data;
    uint32_t length; /* of data */
    uint32_t sent;   /* bytes of frame and data */
};

enum tcp_op_kind {
    TCP_OP_IDLE, /* not submitted, or ended: operations are zeroed at first */
    TCP_OP_RECV_UNEXPECTED,
    TCP_OP_RECV_EXPECTED,
    TCP_OP_SEND,
    TCP_OP_PUT,
    TCP_OP_GET,
};

/* The plugin's part of an operation. */
struct tcp_op {
    enum tcp_op_kind kind;
    bool submitting; /* it may still end as DONE, or with an error at once */
    int32_t status;
    na_plugin_ctx *ctx;
    struct tp_link pending; /* in the context */
    struct tp_link link;    /* in *list: of its connection, or of its peer */
    struct tp_list *list;
    struct tp_recv recv;
    struct tcp_conn *conn;
    struct tcp_packet packet;
    na_plugin_mem *local; /* from here on of puts and gets: what is left */
    uint64_t local_offset;
    uint64_t key;
    uint64_t remote_offset;
    uint64_t left;
    uint32_t unanswered;
};

/* A frame of a put or get that has no answer yet. */
struct tcp_request {
    bool busy;
    struct tcp_op *op; /* NULL: canceled */
    uint64_t offset;
    uint32_t length;
};

/* A socket to a peer. There may be two, if both have connected at once. */
struct tcp_conn {
    struct tp_keyed keyed; /* in cls->numbers */
    struct tp_link link;   /* in cls->conns */
    struct tp_link young;  /* in cls->young until it is open */
    na_plugin_class *cls;
    na_plugin_addr *peer; /* one reference; NULL: accepted, and no hello yet */
    int fd;
    bool connecting;
    bool open; /* the peer's hello is here */
    bool watches_out;
    uint64_t deadline;   /* of opening */
    struct tp_list out;  /* packets; only the first is sent in part */
    struct tp_list held; /* packets of sends that wait for credit */
    struct tp_list
        fragments;           /* packets of puts and gets that wait for a turn */
    struct tp_list ops;      /* all that end if the connection does */
    uint32_t max_unexpected; /* the peer's */
    uint32_t max_expected;
    uint64_t window; /* bytes of unexpected messages that it queues for us */
    uint64_t used;
    uint64_t taken; /* bytes that we have queued for it, or not credited yet */
    uint64_t owed;  /* of which these are to be credited */
    uint32_t answers; /* in out */
    struct tcp_request requests[TCP_REQUESTS];
    uint32_t in_used;
    unsigned char *in; /* cls->room bytes: what has arrived */
};

struct na_plugin_addr {
    struct tp_addr base;
    struct tcp_conn *conn; /* to send by; NULL: none */
    struct tp_list recvs;  /* expected receives that end if the peer does */
    struct tp_place place; /* where it listens */
    char name[80];         /* "host:port" */
};

struct na_plugin_mem { /* own registrations, and peers' */
    struct tp_mem base;
    na_plugin_segment segments[];
};

struct na_plugin_ctx {
    na_plugin_class *cls;
    uint32_t id;
    bool armed; /* it may sleep: an event has to wake it */
    struct tp_match match;
    struct tp_quota quota; /* not needed: senders have credit */
    struct tp_events events;
    struct tp_wake wake;
    struct tp_list pending; /* operations */
};

struct na_plugin_class {
    const na_plugin_host *host;
    struct tp_lock lock;
    int epoll; /* the listener as number 0, connections by theirs */
    int listener;
    bool may_sleep;  /* na.wait/1 will be used */
    uint64_t recent; /* the connection that has received last; 0: none */
    uint32_t recent_polls;
    uint64_t deaf_until; /* accepting failed: tried again then; 0: it listens */
    uint64_t last_number;
    struct tp_table numbers;
    struct tp_list conns;
    struct tp_list young; /* oldest first */
    struct tp_table addrs;
    struct tp_table mems;
    struct tp_random random;
    na_plugin_addr *self;
    int family; /* preferred of names */
    uint32_t max_unexpected;
    uint32_t max_expected;
    uint32_t window;
    uint32_t room; /* of a connection's in */
    uint64_t connect_timeout;
    uint64_t send_timeout;
    na_plugin_ctx *contexts[NA_PLUGIN_CONTEXTS_MAX];
    _Atomic uint64_t connects, accepts, sent, received, put_bytes, get_bytes;
};

/* Each file of these fills in its part of the table of operations. */
void tcp_address_ops(na_plugin_ops *ops);
void tcp_message_ops(na_plugin_ops *ops);
void tcp_rma_ops(na_plugin_ops *ops);
void tcp_progress_ops(na_plugin_ops *ops);
extern const na_plugin_wait tcp_wait;

/* descriptor.c: sockets that a forked child does not keep. -1: errno says why. */
int tcp_socket(int family);
int tcp_accept(int listener);
int tcp_pair(int fds[2]);
void tcp_close(int fd);

/* The lock is held from here on. */

/* address.c: the address of a place, one reference (NULL: no memory); one less. */
na_plugin_addr *tcp_addr_get(
    na_plugin_class *cls, const struct tp_place *place);
void tcp_addr_put(na_plugin_class *cls, na_plugin_addr *addr);

/* conn.c */
int32_t tcp_listen(na_plugin_class *cls, const na_plugin_open_info *info);
void tcp_conn_accept(na_plugin_class *cls);
/* The connection to a peer, begun if there is none. HOSTUNREACH, NOMEM */
int32_t tcp_conn_get(
    na_plugin_class *cls, na_plugin_addr *peer, struct tcp_conn **conn_p);
/* Ends a connection, and what is pending on it, with a code. */
void tcp_conn_end(struct tcp_conn *conn, int32_t status);
/* It is readable or writable: events as of epoll. */
void tcp_conn_advance(struct tcp_conn *conn, uint32_t events);

/* packet.c */
struct tcp_packet *tcp_packet_new(enum tcp_kind kind, uint32_t length);
/* Appends it to another list of its connection; NULL: to none. */
void tcp_packet_move(struct tcp_packet *packet, struct tp_list *list);
/* Takes the packet from an operation though a part was sent: the rest is copied.
 * False: no memory. */
bool tcp_packet_detach(struct tcp_packet *packet);
/* Sends what can be sent now. Errors are left to the next read. */
void tcp_flush(struct tcp_conn *conn);
void tcp_frame_swap(struct tcp_frame *frame); /* from or to little-endian */

/* message.c: what arrives; false: it breaks the protocol. */
bool tcp_message_arrived(
    struct tcp_conn *conn, const struct tcp_frame *frame, const void *data);
void tcp_message_forget(void *arg, struct tp_kept *kept, bool dropped);
/* Lets unexpected messages out for which there is credit. */
void tcp_message_release(struct tcp_conn *conn);

/* rma.c: as above; a put or get whose turn it is; one whose packet was sent */
bool tcp_rma_arrived(
    struct tcp_conn *conn, const struct tcp_frame *frame, const void *data);
bool tcp_rma_asked(
    struct tcp_conn *conn, const struct tcp_frame *frame, const void *data);
void tcp_rma_next(struct tcp_conn *conn);
void tcp_rma_sent(struct tcp_op *op);
void tcp_rma_cancel(struct tcp_op *op);

/* progress.c */
/* Makes an operation pending, on a list that it leaves when it ends. False: no
 * memory. */
bool tcp_op_begin(struct tcp_op *op, na_plugin_ctx *ctx, enum tcp_op_kind kind,
    struct tp_list *list);
void tcp_op_report(struct tcp_op *op, const na_plugin_event *event);
void tcp_op_end(struct tcp_op *op, int32_t status);
/* What a submission returns, once it has sent what it could. */
int32_t tcp_op_submitted(struct tcp_op *op);

#endif /* TCP_H */
