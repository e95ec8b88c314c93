/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small transport over datagrams of Unix sockets, between the processes of one
 * machine, that uses every table of the transport ABI as of 1.0. Its binaries
 * beside this file are never built again: each later core has to load them.
 *
 * A class has one socket, on which peers put and get; a context has two, for
 * unexpected messages, which are read only when a receive is posted, so that the
 * kernel holds the sender back, and for all else, which is always read. One lock
 * guards a class; "locked" below means that it is held.
 */
#ifndef FROZEN_H
#define FROZEN_H

#include "na_plugin.h"
#include "system.h"

#define FROZEN_PROTOCOL "unix"
#define CONTEXTS 4U
#define NAME_SIZE 48U /* of a class, with its zero */
#define UNEXPECTED_MAX 4096U
#define EXPECTED_MAX 8192U
#define UNEXPECTED_HEADER 16U
#define EXPECTED_HEADER 8U
#define TAG_MAX UINT32_MAX
#define SEGMENTS 8U
#define FRAGMENT 16384U /* bytes of a put or get in one datagram */
#define KEPT_MAX 256U
#define RMA_OUT 16U /* datagrams of a context without their answer */
#define ANSWERS_MAX 1024U
#define RETRY_NS 1000000U       /* of a send that found no room */
#define PROBE_NS 100000000U     /* of a peer that something is awaited from */
#define SEND_NS 300000000000ULL /* until a queued send fails */

enum frozen_kind {
    SEND_UNEXPECTED = 1,
    SEND_EXPECTED,
    RECV_UNEXPECTED,
    RECV_MULTI,
    RECV_EXPECTED,
    PUT,
    GET,
    ANSWER /* of packets only */
};

/* In front of each datagram. */
struct packet {
    uint32_t magic;
    uint16_t kind; /* enum frozen_kind */
    uint16_t zero;
    uint64_t tag;    /* of a message; of a put, get, answer: its id */
    uint64_t key;    /* of the registration */
    uint64_t offset; /* in it */
    uint64_t length; /* wanted by a get, else bytes that follow */
    int32_t status;  /* of an answer */
    uint32_t zero_too;
};
#define PACKET_MAGIC 0x317A7246U

/* The plugin's part of an operation, in one list of its context. */
struct op {
    struct op *next;
    na_plugin_addr *peer;
    uint32_t kind;
    uint32_t peer_ctx;
    uint32_t waits; /* put, get: a datagram is still to be sent */
    uint32_t zero;
    uint64_t tag; /* put, get: id */
    const unsigned char *data;
    unsigned char *buffer;
    uint64_t length;
    uint64_t done; /* put, get: bytes; multi-receive: bytes used */
    uint64_t part; /* put, get: bytes of the datagram that is out */
    na_plugin_mem *local;
    na_plugin_mem *remote;
    uint64_t local_offset;
    uint64_t remote_offset;
    uint64_t deadline;
    na_plugin_event event;
};

struct list {
    struct op *first;
    struct op *last;
};

/* An expected message without a receive. */
struct kept {
    struct kept *next;
    char name[NAME_SIZE];
    uint32_t ctx;
    uint32_t zero;
    uint64_t tag;
    uint64_t length;
    unsigned char data[];
};

/* An answer that found no room at its receiver. */
struct answer {
    struct answer *next;
    struct sys_addr to;
    uint32_t to_length;
    struct packet packet;
    uint64_t length;
    unsigned char data[];
};

struct na_plugin_addr {
    na_plugin_addr *next;
    uint64_t references;
    char name[NAME_SIZE];
};

struct na_plugin_mem {
    na_plugin_mem *next;
    uint64_t key;
    uint64_t length;
    uint32_t access;
    uint32_t count; /* 0: of a peer */
    na_plugin_segment segments[SEGMENTS];
};

struct na_plugin_ctx {
    na_plugin_class *cls;
    void *core_ctx;
    uint32_t id;
    int32_t unexpected; /* sockets */
    int32_t expected;
    int32_t epoll;
    uint32_t watching; /* the epoll set has the unexpected socket */
    uint32_t armed;
    uint64_t next_id;
    uint64_t rma_out;
    uint64_t probe_time;
    struct list sends; /* that found no room */
    struct list unexpected_receives;
    struct list expected_receives;
    struct list rma;
    struct list ended;
    struct kept *kept;
    uint64_t kept_count;
};

struct na_plugin_class {
    const na_plugin_host *host;
    uint32_t lock;
    uint32_t no_retry;
    int32_t socket;
    int32_t probe;
    uint64_t kept_max;
    uint64_t messages;
    uint64_t datagrams;
    na_plugin_addr *addrs;
    na_plugin_addr *self;
    na_plugin_mem *mems;
    struct answer *answers;
    uint64_t answer_count;
    na_plugin_ctx *contexts[CONTEXTS];
    struct packet packet;
    unsigned char data[FRAGMENT];
};

/* plugin.c */
void frozen_log(const na_plugin_host *host, int32_t level, uint32_t line,
    const char *text, const char *what);

/* address.c: entries of the table; and, locked, one reference to the address of a
 * name that has been checked, or NULL. */
int frozen_name_is_valid(const char *name);
na_plugin_addr *frozen_addr(na_plugin_class *cls, const char *name);
int32_t frozen_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p);
int32_t frozen_addr_lookup(
    na_plugin_class *cls, const char *name, na_plugin_addr **addr_p);
void frozen_addr_dup(na_plugin_class *cls, na_plugin_addr *addr);
void frozen_addr_free(na_plugin_class *cls, na_plugin_addr *addr);
int32_t frozen_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b);
uint64_t frozen_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr);
int32_t frozen_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p);
int32_t frozen_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p);
int32_t frozen_addr_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_addr **addr_p);

/* socket.c. which: 'c' is the class's socket, 'u' and 'e' are a context's.
 * Results are the kernel's. */
uint32_t socket_name(
    struct sys_addr *out, const char *name, char which, uint32_t ctx);
/* An open socket of that name. */
int32_t socket_open(const char *name, char which, uint32_t ctx);
/* The class and context that a datagram came from; 0: of another kind. */
int socket_source(const struct sys_addr *from, uint32_t length,
    char name[NAME_SIZE], uint32_t *ctx);
int32_t socket_send(int32_t fd, struct sys_addr *to, uint32_t to_length,
    const struct packet *packet, const void *data, uint64_t length);
/* Bytes behind the packet, or a negative error. */
int64_t socket_receive(int32_t fd, struct sys_addr *from, uint32_t *from_length,
    struct packet *packet, void *data, uint64_t length, int *truncated);
/* Whether a class of that name is there; locked. */
int socket_is_alive(na_plugin_class *cls, const char *name);

/* list.c, locked */
void list_add(struct list *list, struct op *op);
/* Whether it was there. */
int list_remove(struct list *list, const struct op *op);
struct op *list_take(struct list *list);
/* The event of an operation that is in no list will be polled. */
void op_end(na_plugin_ctx *ctx, struct op *op, int32_t status);

/* message.c */
int32_t frozen_buf_init(
    na_plugin_class *cls, void *buffer, uint64_t length, uint32_t kind);
int32_t frozen_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t frozen_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t frozen_recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags);
int32_t frozen_recv_multi(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags);
int32_t frozen_recv_expected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
/* Locked: sends what found no room before; takes one expected message; one
 * unexpected message into an event, 0 if there is none. */
void message_retry(na_plugin_ctx *ctx, uint64_t now);
void message_expected(na_plugin_ctx *ctx, const char *name, uint32_t from,
    const struct packet *packet, const void *data, uint64_t length);
int message_unexpected(na_plugin_ctx *ctx, na_plugin_event *event);
void message_drop_kept(na_plugin_ctx *ctx);

/* rma.c */
int32_t frozen_mem_register(na_plugin_class *cls,
    const na_plugin_mem_info *info, na_plugin_mem **mem_p);
void frozen_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem);
int32_t frozen_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem,
    void *buffer, uint64_t *size_p);
int32_t frozen_mem_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_mem **mem_p);
void frozen_mem_remote_free(na_plugin_class *cls, na_plugin_mem *mem);
int32_t frozen_put(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);
int32_t frozen_get(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);
/* Locked: goes on with those that found no room; takes an answer; answers what
 * peers ask of the class; forgets what was not sent. */
void rma_retry(na_plugin_ctx *ctx);
void rma_answered(na_plugin_ctx *ctx, const char *name,
    const struct packet *packet, const void *data, uint64_t length);
void rma_serve(na_plugin_class *cls);
void rma_drop_answers(na_plugin_class *cls);

/* progress.c */
int32_t frozen_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p);
void frozen_ctx_destroy(na_plugin_ctx *ctx);
int32_t frozen_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);
int32_t frozen_cancel(na_plugin_ctx *ctx, void *op);
void frozen_addr_forget(na_plugin_class *cls, na_plugin_addr *addr);
int32_t frozen_fd(na_plugin_ctx *ctx);
int32_t frozen_arm(na_plugin_ctx *ctx, uint64_t *sleep_ns);
/* Unlocks after a submission, and wakes who sleeps on the context. */
void frozen_unlock(na_plugin_ctx *ctx);

#endif /* FROZEN_H */
