/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small transport over Unix sockets, either correct or with one violation:
 * the subject that the conformance kit is tested with. One lock per class
 * guards all objects; "lock held" below means that one.
 */
#ifndef WIRE_H
#define WIRE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "na_plugin.h"
#include "variants.h"
#include "violation.h"

#define WIRE_CONTEXTS 4U
#define WIRE_NAME_MAX 48U
#define WIRE_UNEXPECTED_MAX 4096U
#define WIRE_EXPECTED_MAX 8192U
#define WIRE_UNEXPECTED_HEADER 16U
#define WIRE_EXPECTED_HEADER 8U
#define WIRE_TAG_MAX INT64_MAX
#define WIRE_SEGMENTS 16U
#define WIRE_CHUNK 32768U /* bytes of a put or get per record */
/* credits: unexpected messages in flight, per context */
#define WIRE_CREDITS 16U
#define WIRE_KEPT_MAX 256U
#define WIRE_EARLY_MAX 256U
#define WIRE_RMA_MAX 16U /* concurrent puts and gets of a connection */
#define WIRE_BUDGET 16U  /* records handled per connection and poll */
#define WIRE_RETRY_NS UINT64_C(5000000)

TAILQ_HEAD(wire_ops, wire_op);
TAILQ_HEAD(wire_conns, wire_conn);
TAILQ_HEAD(wire_messages, wire_message);

enum wire_kind {
    WIRE_SEND_UNEXPECTED,
    WIRE_SEND_EXPECTED,
    WIRE_RECV_UNEXPECTED,
    WIRE_RECV_MULTI,
    WIRE_RECV_EXPECTED,
    WIRE_PUT,
    WIRE_GET
};

/* The plugin's part of an operation. */
struct wire_op {
    TAILQ_ENTRY(wire_op) all;  /* link in ctx->pending */
    TAILQ_ENTRY(wire_op) link; /* link in *list */
    struct wire_ops *list;     /* queue that it is in, or NULL */
    na_plugin_ctx *ctx;
    /* connection that it is sent on, or expected from */
    struct wire_conn *conn;
    na_plugin_addr *peer;
    enum wire_kind kind;
    uint32_t peer_ctx;
    uint64_t tag;
    unsigned char *buffer; /* sends only read it */
    uint64_t length;
    /* bytes sent of a put, received of a get, used of a multi-receive's
     * buffer */
    uint64_t done;
    uint64_t id; /* put, get: id in the answer */
    na_plugin_mem *local;
    na_plugin_mem *remote;
    uint64_t local_offset;
    uint64_t remote_offset;
    uint64_t deadline_ns; /* deadline of a queued one */
    bool stale;           /* a variant: it was used before */
    bool canceled;        /* multi-receive with an unreported event */
    na_plugin_event event;
};

/* A received message without a matching receive. */
struct wire_message {
    TAILQ_ENTRY(wire_message) next;
    /* connection that gets a credit for it; NULL: closed */
    struct wire_conn *conn;
    na_plugin_addr *source; /* one reference */
    uint32_t source_ctx;
    uint64_t tag;
    uint64_t length;
    unsigned char bytes[];
};

/* Wire format: records, each followed by up to WIRE_CHUNK bytes. Both ends are
 * on one host. */
enum wire_type {
    WIRE_HELLO = 1,  /* bytes: own name; first record of a connection */
    WIRE_UNEXPECTED, /* bytes: the message */
    WIRE_EXPECTED,
    WIRE_CREDIT,   /* tag: number of credits for target */
    WIRE_PUT_DATA, /* bytes: a fragment, at offset `at` */
    WIRE_PUT_DONE,
    WIRE_GET_ASK,
    /* bytes: a fragment, at offset `at`; the last one if status is set */
    WIRE_GET_DATA
};

#define WIRE_MAGIC 0x31524957U

struct wire_record {
    uint32_t magic;
    uint8_t type;
    uint8_t target; /* contexts */
    uint8_t source;
    uint8_t zero;
    int32_t status;
    uint32_t length; /* length of the bytes that follow */
    uint64_t tag;    /* of a message; id of a put or get */
    uint64_t owner;  /* put, get: class, registration, and range in it */
    uint64_t mem;
    uint64_t offset;
    uint64_t total;
    uint64_t at;
};

/* A pending answer to a put or get of the peer. */
struct wire_serve {
    struct wire_record record;
    bool put;
};

/* A socket to a peer; there may be several per peer. A connection to self has
 * both ends in the class. */
struct wire_conn {
    TAILQ_ENTRY(wire_conn) next;
    na_plugin_class *cls;
    na_plugin_addr *peer; /* one reference; NULL before its hello */
    int fd;               /* -1: the peer's backlog was full, to be retried */
    int pidfd;            /* the peer's pid, -1: unknown, or this process */
    bool dead;
    bool accepted;       /* the peer has connected */
    bool wants_out;      /* EPOLLOUT is on */
    struct wire_ops out; /* operations to send as soon as there is room */
    /* waiting for credits of a context; last: puts and gets waiting for a
     * slot */
    struct wire_ops blocked[WIRE_CONTEXTS + 1];
    struct wire_ops awaited;         /* puts and gets waiting for the answer */
    uint32_t credits[WIRE_CONTEXTS]; /* own credits */
    uint32_t granted[WIRE_CONTEXTS]; /* credits of the peer */
    uint32_t due[WIRE_CONTEXTS];     /* credits to be granted */
    uint32_t rma_out;
    struct wire_serve serves[WIRE_RMA_MAX]; /* circular list */
    uint32_t serve_first;
    uint32_t serve_count;
};

struct na_plugin_addr {
    TAILQ_ENTRY(na_plugin_addr) next;
    struct wire_conn *conn; /* connection to send on, or NULL */
    uint64_t refs;
    bool died; /* a variant: for good */
    char name[WIRE_NAME_MAX + 1];
};

struct na_plugin_mem {
    TAILQ_ENTRY(na_plugin_mem) next; /* of own registrations */
    bool remote;
    uint64_t owner;
    uint64_t id;
    uint64_t length;
    uint32_t access;
    uint32_t contexts; /* contexts at the time of registration */
    uint32_t count;
    na_plugin_segment segments[WIRE_SEGMENTS];
};

struct na_plugin_ctx {
    na_plugin_class *cls;
    void *core_ctx;
    uint32_t id;
    bool alive; /* messages may arrive before it is created */
    bool armed;
    bool rung;
    int wait_fd;
    int bell;
    struct wire_ops pending;    /* all without a final event, oldest first */
    struct wire_ops ready;      /* with an event to report */
    struct wire_ops recvs;      /* receives of unexpected messages */
    struct wire_ops expected;   /* receives of expected ones */
    struct wire_messages kept;  /* unexpected messages without a receive */
    struct wire_messages early; /* expected messages without a receive */
    uint32_t kept_count;
    uint32_t early_count;
};

struct na_plugin_class {
    const na_plugin_host *host;
    const char *protocol;
    enum wire_variant broken;
    bool no_block;
    bool no_retry;
    bool deaf; /* accept failed for want of descriptors */
    int epoll;
    int listener; /* holds the name if the class does not listen */
    uint64_t instance;
    uint64_t send_timeout_ns;
    uint64_t timer_ns; /* time of the next timer */
    uint64_t last_id;
    na_plugin_addr *self;
    TAILQ_HEAD(, na_plugin_addr) addrs;
    TAILQ_HEAD(, na_plugin_mem) mems;
    struct wire_conns conns;
    struct wire_conns ended; /* connections to be freed at the next poll */
    na_plugin_ctx contexts[WIRE_CONTEXTS];
    uint64_t sent;
    uint64_t received;
    uint64_t queued;
    uint64_t connections;
    pthread_mutex_t lock;
    struct wire_violation violation;
    struct wire_record in; /* record that is being handled, and its bytes */
    unsigned char in_bytes[WIRE_CHUNK];
};

/* Whether a class breaks this rule. */
static inline bool
wire_breaks(const na_plugin_class *cls, enum wire_variant variant)
{
    return cls->broken == variant;
}

/* Each plugin built from these parts defines it: a setting of its own. */
extern const char wire_send_timeout_key[];

/* plugin.c */
extern const char *const wire_protocols[];
extern const na_plugin_setting *const wire_settings[];
int32_t wire_info(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device));
int32_t wire_open(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_opened *opened);
void wire_close(na_plugin_class *cls);
#define WIRE_LOG(host, level, ...)                                             \
    wire_log(host, NA_PLUGIN_LOG_##level, __FILE__, __LINE__, __VA_ARGS__)
void wire_log(const na_plugin_host *host, int32_t level, const char *file,
    uint32_t line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
uint64_t wire_now(void);

/* address.c */
bool wire_name_valid(const char *name, size_t length);
/* Returns a reference to the address for a valid name; NULL: out of memory.
 * Lock held. */
na_plugin_addr *wire_addr_get(
    na_plugin_class *cls, const char *name, size_t length);
void wire_addr_put(na_plugin_class *cls, na_plugin_addr *addr);
/* Stores the size needed. Returns OK if there is room, or no buffer. */
int32_t wire_size_settle(const void *buffer, uint64_t *size_p, uint64_t need);

/* conn.c; lock held */
int32_t wire_listen(na_plugin_class *cls, const char *name, bool listens);
void wire_accept(na_plugin_class *cls);
/* The connection to an address, created if necessary. */
int32_t wire_conn_get(
    na_plugin_class *cls, na_plugin_addr *addr, struct wire_conn **conn_p);
/* Retries to connect to a peer whose backlog was full. */
void wire_conn_retry(struct wire_conn *conn);
/* Closes it, and ends all its pending operations. It is freed later. */
void wire_conn_end(struct wire_conn *conn, int32_t status);
void wire_conns_free(struct wire_conns *conns);
/* Sends one record and its bytes. Returns 0, or an errno. EAGAIN: no room;
 * others: the peer is dead, which poll will notice. */
int wire_conn_send(struct wire_conn *conn, const struct wire_record *record,
    const struct iovec *bytes, uint32_t count);
void wire_conn_watch(struct wire_conn *conn, bool out);

/* message.c */
int32_t wire_buf_alloc(na_plugin_class *cls, uint64_t length, uint32_t kinds,
    void **buffer_p, void **buffer_data_p);
void wire_buf_free(na_plugin_class *cls, void *buffer, void *buffer_data);
int32_t wire_buf_init(
    na_plugin_class *cls, void *buffer, uint64_t length, uint32_t kind);
int32_t wire_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t wire_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t wire_recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags);
int32_t wire_recv_multi(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags);
int32_t wire_recv_expected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
/* Handles a received message, whose bytes are in cls->in. Returns false if out
 * of memory. Lock held, as below. */
bool wire_message_arrived(struct wire_conn *conn);
/* Matches posted receives with kept messages. */
void wire_message_match(na_plugin_ctx *ctx);
void wire_message_free(na_plugin_ctx *ctx, struct wire_messages *list,
    struct wire_message *message);
void wire_messages_forget(na_plugin_class *cls, const na_plugin_addr *addr);

/* op.c; lock held */
void wire_op_begin(struct wire_op *op, na_plugin_ctx *ctx, enum wire_kind kind);
void wire_op_move(struct wire_op *op, struct wire_ops *list);
/* Removes it from its queue, and frees what it had reserved. */
void wire_op_withdraw(struct wire_op *op);
/* Marks its event as ready to be reported. */
void wire_op_ready(struct wire_op *op);
void wire_op_end(struct wire_op *op, int32_t status);
void wire_rouse_all(na_plugin_class *cls);
/* Starts or queues a send, put or get whose fields are set. */
int32_t wire_op_submit(struct wire_op *op);
/* Sends what can be sent now. */
void wire_conn_flush(struct wire_conn *conn);
/* Resumes operations that were blocked on this. */
void wire_conn_unblock(struct wire_conn *conn, uint32_t index);

/* progress.c */
int32_t wire_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p);
void wire_ctx_destroy(na_plugin_ctx *ctx);
int32_t wire_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);
int32_t wire_cancel(na_plugin_ctx *ctx, void *op);
/* Performs all pending work. Lock held. */
void wire_advance(na_plugin_class *cls);
extern const na_plugin_wait wire_wait;

/* rma.c */
int32_t wire_mem_register(na_plugin_class *cls, const na_plugin_mem_info *info,
    na_plugin_mem **mem_p);
void wire_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem);
int32_t wire_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem,
    void *buffer, uint64_t *size_p);
int32_t wire_mem_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_mem **mem_p);
void wire_mem_free(na_plugin_class *cls, na_plugin_mem *mem);
int32_t wire_put(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);
int32_t wire_get(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);
/* Writes to memory from an offset on; bytes beyond it are dropped. */
void wire_mem_write(const na_plugin_mem *mem, uint64_t offset,
    const unsigned char *bytes, uint64_t length);
/* Sends the next record of a put or get, own or served; returns like
 * wire_conn_send. Lock held. */
int wire_rma_push(struct wire_op *op);
int wire_serve_push(struct wire_conn *conn);
/* Handles a record. Returns false if it breaks the protocol. Lock held. */
bool wire_rma_arrived(struct wire_conn *conn);

/* address.c */
int32_t wire_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p);
int32_t wire_addr_lookup(
    na_plugin_class *cls, const char *name, na_plugin_addr **addr_p);
void wire_addr_dup(na_plugin_class *cls, na_plugin_addr *addr);
void wire_addr_free(na_plugin_class *cls, na_plugin_addr *addr);
int32_t wire_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b);
uint64_t wire_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr);
int32_t wire_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p);
int32_t wire_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p);
int32_t wire_addr_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_addr **addr_p);
void wire_addr_forget(na_plugin_class *cls, na_plugin_addr *addr);

#endif /* WIRE_H */
