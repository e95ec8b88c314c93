/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects of the loop plugin. One lock guards them all: it is made to check its
 * callers, not to be fast.
 */
#ifndef LOOP_INTERNAL_H
#define LOOP_INTERNAL_H

#include "loop_plugin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#define LOOP_CONTEXTS_MAX 16U
#define LOOP_HEADER_BYTE 0xa5U

enum loop_state {
    LOOP_IDLE,    /* zeroed memory, or the final event was reported */
    LOOP_POSTED,  /* a posted receive */
    LOOP_HELD,    /* held until loop_release */
    LOOP_REPORTED /* the final event is queued */
};

/* The plugin's part of an operation. */
struct loop_op {
    enum loop_state state;
    enum loop_kind kind;
    bool multi;
    na_plugin_ctx *ctx;
    unsigned char *buffer;
    uint64_t length;
    uint64_t used; /* length of a multi-receive's buffer */
    uint32_t peer; /* id of a class */
    uint32_t peer_ctx;
    uint64_t tag;
    uint32_t delay;             /* delay of a receive's event, in polls */
    const na_plugin_mem *local; /* put and get */
    const na_plugin_mem *remote;
    uint64_t local_offset;
    uint64_t remote_offset;
    /* link in a list of receives or of held operations */
    TAILQ_ENTRY(loop_op) next;
};

TAILQ_HEAD(loop_ops, loop_op);

/* A message that matched no posted receive. */
struct loop_message {
    TAILQ_ENTRY(loop_message) next;
    uint32_t source;
    uint32_t source_ctx;
    uint64_t tag;
    uint64_t length;
    unsigned char bytes[];
};

TAILQ_HEAD(loop_messages, loop_message);

struct loop_event {
    TAILQ_ENTRY(loop_event) next;
    uint64_t due; /* reported from this poll on */
    na_plugin_event event;
};

struct na_plugin_ctx {
    na_plugin_class *cls;
    uint32_t id;
    void *core_ctx;
    int fd;
    bool armed;           /* the next event writes to fd */
    bool fd_written;      /* it has written */
    _Atomic bool polling; /* poll, arm or cancel is running */
    uint64_t polls;
    uint32_t pending;
    struct loop_ops unexpected; /* posted receives */
    struct loop_ops expected;
    struct loop_messages unexpected_arrived;
    struct loop_messages expected_arrived;
    uint32_t expected_kept;
    TAILQ_HEAD(, loop_event) events;
};

struct na_plugin_addr {
    LIST_ENTRY(na_plugin_addr) next;
    uint32_t number;
    uint32_t refs;
};

struct na_plugin_mem {
    /* link in the class's list of registrations */
    LIST_ENTRY(na_plugin_mem) next;
    uint32_t number; /* id of the owner's class */
    uint32_t access;
    uint64_t id;
    uint64_t size;
    bool remote;
    uint64_t count;
    na_plugin_segment segments[];
};

struct na_plugin_class {
    LIST_ENTRY(na_plugin_class) next;
    uint32_t number;
    bool listen;
    bool dead;
    bool broken;
    struct loop_limits limits;
    const na_plugin_host *host;
    na_plugin_ctx *contexts[LOOP_CONTEXTS_MAX];
    LIST_HEAD(, na_plugin_addr) addrs;
    LIST_HEAD(, na_plugin_mem) mems;
    uint32_t buffer_count;
    uint32_t remote_mem_count;
};

LIST_HEAD(loop_classes, na_plugin_class);

extern pthread_mutex_t loop_lock;
extern struct loop_classes loop_classes;

/* Aborts: the core broke the ABI. */
void loop_violated(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));

/* A core of ABI 1.0 requires no features; hints are ignored. */
static inline void
loop_check_flags(uint32_t flags)
{
    if (flags & NA_PLUGIN_FLAGS_DEMANDS)
        loop_violated("flags 0x%x", flags);
}

/* All functions below are called with the lock held. */

/* The live class with an id, or NULL. */
na_plugin_class *loop_class_find(uint32_t number);

/* Returns a new reference to the address of a class. NULL: out of memory. */
na_plugin_addr *loop_addr_get(na_plugin_class *cls, uint32_t number);

/* Ends an operation with an event, due `delay` polls later. */
void loop_op_end(struct loop_op *op, na_plugin_event event, uint32_t delay);
void loop_op_fail(struct loop_op *op, int32_t code, uint32_t delay);

/* Queues an event that is not the last of its operation. */
void loop_event_push(na_plugin_ctx *ctx, na_plugin_event event, uint32_t delay);

/* Delivers a message to a context: matches a receive, or is kept. */
void loop_deliver(na_plugin_class *target, uint32_t ctx, enum loop_kind kind,
    struct loop_message *message);

/* Copies bytes into a new message, after `header` bytes of header space. */
struct loop_message *loop_message_create(uint32_t source, uint32_t source_ctx,
    uint64_t tag, const void *bytes, uint64_t length, uint32_t header);

/* Ends what is pending to or from a class in one context. */
void loop_ctx_peer_gone(na_plugin_ctx *ctx, uint32_t number);
/* The same in every context of every class. */
void loop_peer_gone(uint32_t number);

/* Performs an operation that was held. Returns OK or an error code. */
int32_t loop_message_perform(struct loop_op *op);
int32_t loop_rma_perform(struct loop_op *op);

/* Submits a send, put or get whose fields are set. Returns the result of the
 * submission. */
int32_t loop_op_submit(struct loop_op *op);

/* Checks an operation and initializes its common fields. */
void loop_op_begin(struct loop_op *op, na_plugin_ctx *ctx, enum loop_kind kind);

/* Drops the held operations of a context that is being destroyed. */
void loop_held_drop(na_plugin_ctx *ctx);

/* Counts an operation of a kind and returns the fault that applies to it. */
struct loop_fault loop_fault_take(enum loop_kind kind);

/* Counts a put or get to a context. */
void loop_rma_count(uint32_t ctx);

void loop_tamper(enum loop_kind kind, unsigned char *bytes, uint64_t *length);

/* The function groups of the plugin's tables. */
int32_t loop_buf_alloc(na_plugin_class *cls, uint64_t length, uint32_t kinds,
    void **buffer_p, void **buffer_data_p);
void loop_buf_free(na_plugin_class *cls, void *buffer, void *buffer_data);
int32_t loop_buf_init(
    na_plugin_class *cls, void *buffer, uint64_t length, uint32_t kind);
int32_t loop_send_unexpected(na_plugin_ctx *ctx, void *part, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t loop_recv_unexpected(na_plugin_ctx *ctx, void *part, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags);
int32_t loop_recv_multi(na_plugin_ctx *ctx, void *part, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags);
int32_t loop_send_expected(na_plugin_ctx *ctx, void *part, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t loop_recv_expected(na_plugin_ctx *ctx, void *part, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t loop_mem_register(na_plugin_class *cls, const na_plugin_mem_info *info,
    na_plugin_mem **mem_p);
void loop_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem);
int32_t loop_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem,
    void *buffer, uint64_t *size_p);
int32_t loop_mem_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_mem **mem_p);
void loop_mem_free(na_plugin_class *cls, na_plugin_mem *mem);
int32_t loop_put(na_plugin_ctx *ctx, void *part, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);
int32_t loop_get(na_plugin_ctx *ctx, void *part, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);
int32_t loop_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);
int32_t loop_cancel(na_plugin_ctx *ctx, void *part);
int32_t loop_arm(na_plugin_ctx *ctx, uint64_t *sleep_ns_p);

#endif /* LOOP_INTERNAL_H */
