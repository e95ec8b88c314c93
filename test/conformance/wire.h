/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small transport over sockets of this host, made to be right and to be
 * broken: what the conformance kit is tested with. Its objects, all guarded by
 * one lock of the class; "lock held" below means that one.
 */
#ifndef WIRE_H
#define WIRE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "mischief.h"
#include "na_plugin.h"
#include "variants.h"

#define WIRE_CONTEXTS 4U
#define WIRE_NAME_MAX 48U
#define WIRE_UNEXPECTED_MAX 4096U
#define WIRE_EXPECTED_MAX 8192U
#define WIRE_UNEXPECTED_HEADER 16U
#define WIRE_EXPECTED_HEADER 8U
#define WIRE_TAG_MAX INT64_MAX
#define WIRE_SEGMENTS 16U
#define WIRE_CHUNK 32768U /* bytes of a put or get in one record */
#define WIRE_CREDITS 16U  /* unexpected messages on the way, per context */
#define WIRE_KEPT_MAX 256U
#define WIRE_EARLY_MAX 256U
#define WIRE_RMA_MAX 16U /* puts and gets of one connection at once */
#define WIRE_BUDGET 16U  /* records in or out of a connection in one go */
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
    TAILQ_ENTRY(wire_op) all;  /* in ctx->pending */
    TAILQ_ENTRY(wire_op) link; /* in *list */
    struct wire_ops *list;     /* where it waits, NULL: nowhere */
    na_plugin_ctx *ctx;
    struct wire_conn *conn; /* that it goes out on, or is expected from */
    na_plugin_addr *peer;
    enum wire_kind kind;
    uint32_t peer_ctx;
    uint64_t tag;
    unsigned char *buffer; /* a send only reads it */
    uint64_t length;
    uint64_t done; /* bytes of a put that went out, of a get that came in, of a
                      multi-receive's buffer that are used */
    uint64_t id;   /* put, get: under which the answer comes */
    na_plugin_mem *local;
    na_plugin_mem *remote;
    uint64_t local_offset;
    uint64_t remote_offset;
    uint64_t deadline_ns; /* of what has not gone out */
    bool stale;           /* a variant: it was used before */
    bool canceled;        /* multi-receive with an event that is unreported */
    na_plugin_event event;
};

/* A message that waits for its receive. */
struct wire_message {
    TAILQ_ENTRY(wire_message) next;
    struct wire_conn *conn; /* that gets a credit for it; NULL: gone */
    na_plugin_addr *source; /* one reference */
    uint32_t source_ctx;
    uint64_t tag;
    uint64_t length;
    unsigned char bytes[];
};

/* What passes between two classes: records, each with up to WIRE_CHUNK bytes
 * behind it. Both ends are of one host. */
enum wire_type {
    WIRE_HELLO = 1,  /* bytes: own name; first on a connection */
    WIRE_UNEXPECTED, /* bytes: the message */
    WIRE_EXPECTED,
    WIRE_CREDIT,   /* tag: so many more unexpected messages to target */
    WIRE_PUT_DATA, /* bytes: a piece of it, at */
    WIRE_PUT_DONE,
    WIRE_GET_ASK,
    WIRE_GET_DATA /* bytes: a piece of it, at; the last one if status says so */
};

#define WIRE_MAGIC 0x31524957U

struct wire_record {
    uint32_t magic;
    uint8_t type;
    uint8_t target; /* contexts */
    uint8_t source;
    uint8_t zero;
    int32_t status;
    uint32_t length; /* bytes behind it */
    uint64_t tag;    /* of a message; id of a put or get */
    uint64_t owner;  /* put, get: class, registration, and range in it */
    uint64_t mem;
    uint64_t offset;
    uint64_t total;
    uint64_t at;
};

/* What is owed to the peer for a put or get of its. */
struct wire_serve {
    struct wire_record record;
    bool put;
};

/* One socket to a peer; there may be several. A class has two ends of one to
 * itself. */
struct wire_conn {
    TAILQ_ENTRY(wire_conn) next;
    na_plugin_class *cls;
    na_plugin_addr *peer; /* one reference; NULL before its hello */
    int fd;               /* -1: the peer's backlog was full, to be retried */
    int pidfd;            /* its process, -1: unknown, or this one's */
    bool dead;
    bool accepted;       /* the peer has connected */
    bool wants_out;      /* EPOLLOUT is on */
    struct wire_ops out; /* can go as soon as there is room */
    struct wire_ops blocked[WIRE_CONTEXTS + 1]; /* by context for want of
                                                  credits; the last: puts, gets */
    struct wire_ops awaited;                    /* puts, gets: for the answer */
    uint32_t credits[WIRE_CONTEXTS];            /* ours */
    uint32_t granted[WIRE_CONTEXTS];            /* the peer's */
    uint32_t due[WIRE_CONTEXTS];                /* to be granted */
    uint32_t rma_out;
    struct wire_serve serves[WIRE_RMA_MAX]; /* ring */
    uint32_t serve_first;
    uint32_t serve_count;
};

struct na_plugin_addr {
    TAILQ_ENTRY(na_plugin_addr) next;
    struct wire_conn *conn; /* to send on, NULL: none */
    uint64_t refs;
    bool died; /* a variant: for good */
    char name[WIRE_NAME_MAX + 1];
};

struct na_plugin_mem {
    TAILQ_ENTRY(na_plugin_mem) next; /* of own ones */
    bool remote;
    uint64_t owner;
    uint64_t id;
    uint64_t length;
    uint32_t access;
    uint32_t contexts; /* there were when it was registered */
    uint32_t count;
    na_plugin_segment segments[WIRE_SEGMENTS];
};

struct na_plugin_ctx {
    na_plugin_class *cls;
    void *core_ctx;
    uint32_t id;
    bool alive; /* messages come for those not yet alive, too */
    bool armed;
    bool rung;
    int wait_fd;
    int bell;
    struct wire_ops pending;    /* all that have no final event, by age */
    struct wire_ops ready;      /* with an event to report */
    struct wire_ops recvs;      /* for unexpected messages */
    struct wire_ops expected;   /* for expected ones */
    struct wire_messages kept;  /* unexpected without a receive */
    struct wire_messages early; /* expected without one */
    uint32_t kept_count;
    uint32_t early_count;
};

struct na_plugin_class {
    const na_plugin_host *host;
    const char *protocol;
    enum wire_variant broken;
    bool no_block;
    bool no_retry;
    bool deaf; /* no descriptor was left to accept with */
    int epoll;
    int listener; /* holds the name, if it does not listen */
    uint64_t instance;
    uint64_t send_timeout_ns;
    uint64_t timer_ns; /* when something is due by the clock */
    uint64_t last_id;
    na_plugin_addr *self;
    TAILQ_HEAD(, na_plugin_addr) addrs;
    TAILQ_HEAD(, na_plugin_mem) mems;
    struct wire_conns conns;
    struct wire_conns ended; /* to be freed at the next poll */
    na_plugin_ctx contexts[WIRE_CONTEXTS];
    uint64_t sent;
    uint64_t received;
    uint64_t queued;
    uint64_t connections;
    pthread_mutex_t lock;
    struct wire_mischief mischief;
    struct wire_record in; /* what is being read, and its bytes */
    unsigned char in_bytes[WIRE_CHUNK];
};

/* Whether a class breaks this rule. */
static inline bool
wire_breaks(const na_plugin_class *cls, enum wire_variant variant)
{
    return cls->broken == variant;
}

/* Each plugin that is made of these parts defines it: a setting of its own. */
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
/* One reference to the address of a valid name; NULL: no memory. Lock held. */
na_plugin_addr *wire_addr_get(
    na_plugin_class *cls, const char *name, size_t length);
void wire_addr_put(na_plugin_class *cls, na_plugin_addr *addr);
/* Notes the bytes needed: OK with room for them, or with no buffer. */
int32_t wire_size_settle(const void *buffer, uint64_t *size_p, uint64_t need);

/* conn.c; lock held */
int32_t wire_listen(na_plugin_class *cls, const char *name, bool listens);
void wire_accept(na_plugin_class *cls);
/* The connection to an address, made if there is none. */
int32_t wire_conn_get(
    na_plugin_class *cls, na_plugin_addr *addr, struct wire_conn **conn_p);
/* Connects one whose peer had no room. */
void wire_conn_retry(struct wire_conn *conn);
/* Ends it, and all that is pending on it. It is freed later. */
void wire_conn_end(struct wire_conn *conn, int32_t status);
void wire_conns_free(struct wire_conns *conns);
/* Sends one record and its bytes: 0, or an errno. EAGAIN: no room; others: the
 * peer is gone, which poll will notice. */
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
/* A message came, whose bytes are in cls->in. false: no memory. Lock held, as
 * for the rest. */
bool wire_message_arrived(struct wire_conn *conn);
/* Gives posted receives what waits for them. */
void wire_message_match(na_plugin_ctx *ctx);
void wire_message_free(na_plugin_ctx *ctx, struct wire_messages *list,
    struct wire_message *message);
void wire_messages_forget(na_plugin_class *cls, const na_plugin_addr *addr);

/* op.c; lock held */
void wire_op_begin(struct wire_op *op, na_plugin_ctx *ctx, enum wire_kind kind);
void wire_op_move(struct wire_op *op, struct wire_ops *list);
/* Takes it out of where it waits; what it had reserved is free again. */
void wire_op_withdraw(struct wire_op *op);
/* Its event is ready to be reported. */
void wire_op_ready(struct wire_op *op);
void wire_op_end(struct wire_op *op, int32_t status);
void wire_rouse_all(na_plugin_class *cls);
/* Sends, puts, gets: starts, or queues, one whose fields are set. */
int32_t wire_op_submit(struct wire_op *op);
/* Sends what can go now. */
void wire_conn_flush(struct wire_conn *conn);
/* Lets those go that were blocked for want of this. */
void wire_conn_unblock(struct wire_conn *conn, uint32_t index);

/* progress.c */
int32_t wire_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p);
void wire_ctx_destroy(na_plugin_ctx *ctx);
int32_t wire_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);
int32_t wire_cancel(na_plugin_ctx *ctx, void *op);
/* All the work that is there. Lock held. */
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
/* Writes to memory from an offset on; what lies beyond it is left out. */
void wire_mem_write(const na_plugin_mem *mem, uint64_t offset,
    const unsigned char *bytes, uint64_t length);
/* Sends the next record of a put or get, or of what is served: as
 * wire_conn_send. Lock held. */
int wire_rma_push(struct wire_op *op);
int wire_serve_push(struct wire_conn *conn);
/* Takes a record in; false: it breaks the protocol. Lock held. */
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
