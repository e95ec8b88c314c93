/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's objects: class, context, address, connection, operation. Beside
 * each field or group stands which lock guards it; README.md has the order. */
#ifndef SM_H
#define SM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/lock.h"
#include "common/log.h"
#include "common/system.h"
#include "na_plugin.h"
#include "registry.h"
#include "ring.h"

#define SM_VERSION "0.1.0"
#define SM_PROTOCOL "sm"

#define SM_CONTEXTS 256U /* numbers of contexts: a byte in a record */
#define SM_TAG_MAX UINT32_MAX
#define SM_MESSAGE_DEFAULT 4096U
#define SM_MESSAGE_MAX 65536U

#define SM_PREFIX_MAX 64U /* a name that a class is opened with */
#define SM_KEY_SIZE 32U   /* bytes of a hash */
#define SM_NAME_MAX 87U   /* the same with "-<pid>-<number>" */

/*
 * Lists. A link begins every object that stands in one, so that it is the
 * object; peer and key are for the hash tables of match.c.
 */
struct sm_link {
    struct sm_link *next;
    struct sm_link *prev;
    const na_plugin_addr *peer;
    uint64_t key;
};

struct sm_list {
    struct sm_link *head;
    struct sm_link *tail;
};

static inline void
sm_list_append(struct sm_list *list, struct sm_link *link)
{
    link->next = NULL;
    link->prev = list->tail;
    if (list->tail != NULL)
        list->tail->next = link;
    else
        list->head = link;
    list->tail = link;
}

static inline void
sm_list_remove(struct sm_list *list, struct sm_link *link)
{
    if (link->prev != NULL)
        link->prev->next = link->next;
    else
        list->head = link->next;
    if (link->next != NULL)
        link->next->prev = link->prev;
    else
        list->tail = link->prev;
}

static inline struct sm_link *
sm_list_pop(struct sm_list *list)
{
    struct sm_link *link = list->head;
    if (link != NULL)
        sm_list_remove(list, link);
    return link;
}

/* Takes the first link away, of which there is one. */
static inline void
sm_list_drop_head(struct sm_list *list)
{
    struct sm_link *next = list->head->next;
    list->head = next;
    if (next != NULL)
        next->prev = NULL;
    else
        list->tail = NULL;
}

/* A hash table of links by peer and key; each bucket is in order of arrival. */
struct sm_table {
    struct sm_list *buckets;
    uint32_t count;
    uint32_t room;  /* it grows when count has come to this */
    uint32_t shift; /* leaves of a hash the number of a bucket */
};

/* What an operation is, and where it stands. An operation that was done within
 * its submission is never written to, and stays idle. */
enum sm_kind {
    SM_OP_NONE, /* zeroed memory */
    SM_OP_RECV_UNEXPECTED,
    SM_OP_RECV_EXPECTED,
    SM_OP_SEND,
    SM_OP_SEND_SELF,
    SM_OP_PUT,
    SM_OP_GET,
};

enum sm_state {
    SM_OP_IDLE,   /* zeroed memory, or its final event has been reported */
    SM_OP_POSTED, /* in a list or table that its kind tells */
    SM_OP_READY,  /* has ended: about to be, or in, the ready list */
};

/* The plugin's part of an operation. */
struct sm_op {
    alignas(64) struct sm_link link;
    na_plugin_ctx *ctx;
    void *buffer; /* a send only reads it */
    uint64_t length;
    uint8_t kind;          /* enum sm_kind */
    _Atomic uint8_t state; /* enum sm_state; written under the lock of the
                              list it enters or leaves */
    uint8_t stop;          /* put, get: cancelled during a slice */
    /* put, get: in conn.helped. Written under progress and ctx->lock. */
    _Atomic bool helped;
    uint8_t own_ctx;  /* put, get: number of the context */
    uint8_t peer_ctx; /* and of the peer's */
    union {
        struct sm_conn *conn;  /* send, put, get; NULL: to oneself */
        na_plugin_ctx *target; /* send to oneself: the context */
    } to;

    union {
        na_plugin_event result;
        struct {
            uint64_t word; /* of the record to be */
            uint32_t tag;
            uint64_t deadline_ns;
        } send;
        struct {
            const na_plugin_mem *local;
            const na_plugin_mem *remote;
            uint64_t local_offset; /* these three move on with each slice */
            uint64_t remote_offset;
            uint64_t length;
            union {
                uint64_t serial; /* of the connection */
                uint64_t asked;  /* helped: bytes asked for, or sent */
            };
            uint64_t arrived; /* helped: bytes of a get that have come */
        } rma;
    };
};

static_assert(sizeof(struct sm_op) == 128, "two lines an operation");

static inline enum sm_state
sm_op_state(const struct sm_op *op)
{
    /* Acquire pairs with the release in sm_op_set: who finds an operation posted
     * may look at what it is, without a lock (sm_cancel). */
    return atomic_load_explicit(&op->state, memory_order_acquire);
}

static inline void
sm_op_set(struct sm_op *op, enum sm_state state)
{
    atomic_store_explicit(&op->state, (uint8_t) state, memory_order_release);
}

/* A message that waits for its receive, copied out of the ring. */
struct sm_kept {
    struct sm_link link;
    struct sm_kept *older; /* kept expected messages: in order of age */
    struct sm_kept *newer;
    na_plugin_addr *from; /* one reference */
    uint32_t length;
    uint32_t tag;
    unsigned char data[];
};

/*
 * An address: a name, once per class. The name that a class is bound to for
 * itself alone, "<prefix>-<pid>-<number>", is its unique name. A looked-up name
 * that turns out to be another one of the same peer points to the unique name's
 * address; matching and comparing go by that.
 */
struct na_plugin_addr {
    /* NULL: not connected. Written under progress and the connection's
     * lock. */
    _Atomic(struct sm_conn *) conn;
    /* Itself, or the unique name's address, which it then has a reference
     * of. Written under progress. */
    _Atomic(na_plugin_addr *) unique;
    _Atomic uint32_t refs;
    uint32_t hash;
    na_plugin_addr *next; /* in the class's table: names */
    uint32_t length;
    char name[];
};

/* Where a connection stands. */
enum sm_conn_state {
    SM_CONN_FREE,
    SM_CONN_RETRY,   /* ours; the peer's backlog was full */
    SM_CONN_CALLING, /* ours; said hello, no answer yet: can be sent to */
    SM_CONN_CALLED,  /* the peer's; no hello yet */
    SM_CONN_UP,
};

/* What is known about sm_conn.memory_fd. */
enum sm_conn_memory {
    SM_MEMORY_UNKNOWN,  /* it has not been opened */
    SM_MEMORY_UNPROVEN, /* whose it is is for the next copy to show */
    SM_MEMORY_PROVEN,
    SM_MEMORY_REFUSED, /* it cannot be opened */
};

/*
 * A connection. The memory is never freed before the class, as a sender may
 * look at one that has just been lost: it takes the lock and compares again.
 */
struct sm_conn {
    /* Receiving: progress. */
    alignas(64) struct sm_ring_rx rx;
    uint32_t misses;        /* polls without a message since the last one */
    bool hot;               /* in the circle of those looked at in each poll; */
    bool listed;            /* in that one or in the cold one */
    bool wakeup_due;        /* the peer has sent a wake-up, or is about to */
    struct sm_conn *around; /* the next of its circle */
    struct sm_conn *before;

    /* Sending: lock; whoever ends the connection has progress as well. */
    alignas(64) struct tp_lock lock;
    struct sm_ring_tx tx;
    struct sm_list queue; /* sends for which there was no room */
    uint64_t sent;        /* messages */
    uint64_t serial;      /* counts the uses of this memory */
    uint32_t users;       /* puts and gets at work on it */
    struct sm_mapping
        *mappings; /* memory of the peer's that is mapped, or asked
                                   for; NULL: none */
    uint32_t mappings_count;
    const unsigned char
        *registry; /* of the peer, NULL: it shows none; read under
                                      lock alone */
    bool stalled;  /* in one of the class's two lists */
    struct sm_conn *stall_next;

    /* The rest: progress; down to called, lock as well to write, so that
     * either will do to read. */
    alignas(64) uint8_t state; /* enum sm_conn_state */
    _Atomic bool denied; /* put and get: not by the kernel; it refuses, or the
                            peer's user is another */
    bool same_user;      /* as this class's */
    bool helps;          /* the peer copies on request */
    bool watched;        /* pidfd stands in the class's epoll set */
    int fd;              /* the socket, -1 when there is none */
    int pidfd;           /* the peer's process, -1 when unknown */
    int memory_fd;       /* privileged: sm_privilege_open_memory, or -1 */
    uint8_t memory;      /* enum sm_conn_memory */
    pid_t pid; /* 0: in a process namespace that cannot be seen from here */
    uid_t uid;
    uint64_t owner;         /* the peer class's number, 0: not known yet */
    na_plugin_addr *peer;   /* one reference; NULL before hello */
    na_plugin_addr *called; /* one reference; the name that was looked up */
    uint64_t retry_ns;      /* SM_CONN_RETRY: when to try again */
    uint64_t deadline_ns;   /* SM_CONN_RETRY, _CALLED: when to give up */
    na_plugin_ctx *blocked; /* context whose queue holds the ring back */
    struct sm_list helped;  /* puts and gets that the peer helps with */
    uint32_t unanswered;    /* pieces asked of it */
    struct sm_job *jobs;    /* what it asked of us, NULL before it did */
    uint32_t jobs_first;    /* a ring of SM_JOBS */
    uint32_t jobs_count;
    bool helping;         /* helped or jobs are not empty: a chore */
    struct sm_conn *next; /* in class.conns, .spare or .ended */
    struct sm_conn *prev;
};

/* A context. Its memory stays until the class goes. */
struct na_plugin_ctx {
    na_plugin_class *cls;
    uint32_t id;
    /* what its polls have to do besides: results in ready, and bits_set */
    _Atomic uint32_t notices;

    struct tp_lock lock; /* guards all down to the RMA queue */
    bool alive;
    bool bell_rung;         /* bell is readable */
    struct sm_list ready;   /* operations with their results */
    struct sm_list recvs;   /* posted for unexpected messages */
    struct sm_table posted; /* posted for expected messages */
    struct sm_list queue;   /* unexpected messages (struct sm_kept) */
    uint64_t queue_bytes;
    struct sm_list held;    /* sends to oneself that queue has no room for */
    struct sm_table early;  /* expected messages without a receive */
    struct sm_kept *oldest; /* of early */
    struct sm_kept *newest;
    uint64_t early_bytes;
    struct sm_list rma; /* puts and gets that poll works off */
    struct sm_op *rma_active;

    struct tp_lock rma_lock; /* held during a slice */
    uint32_t rma_skipped;    /* polls that had something else to report */

    /* Waiting: armed under lock; the rest is the poller's. */
    _Atomic bool armed;
    _Atomic bool bits_set; /* in the rings: progress */
    int wait_fd;           /* epoll: the class's and bell */
    int bell;              /* eventfd */
};

/* Counters of what is over; those of live connections are added to them. */
struct sm_counters {
    _Atomic uint64_t sent;
    _Atomic uint64_t sent_bytes; /* with the records' headers and padding */
    _Atomic uint64_t received;   /* of the report: class.received counts */
    _Atomic uint64_t self;       /* messages to oneself */
    _Atomic uint64_t queued;     /* unexpected messages without a receive */
    _Atomic uint64_t dropped;    /* expected messages that nobody received */
    _Atomic uint64_t strayed;    /* messages for a context that is not there */
    _Atomic uint64_t stalls;     /* sends that found the ring full */
    _Atomic uint64_t connects;   /* connections made by either side */
    _Atomic uint64_t losses;     /* connections ended */
    _Atomic uint64_t broken;     /* of these, for breach of the protocol */
    _Atomic uint64_t refused;    /* callers of another user or key */
    _Atomic uint64_t bells;      /* rung for a sleeping peer */
    _Atomic uint64_t put_bytes;
    _Atomic uint64_t get_bytes;
    _Atomic uint64_t helped_bytes; /* of both, by the owner's help */
    _Atomic uint64_t mapped_bytes; /* of both, through mapped memory */
    _Atomic uint64_t areas;        /* of peers, mapped */
    _Atomic uint64_t refused_rma;  /* puts and gets, by a peer's registry */
};

struct na_plugin_class {
    const na_plugin_host *host;
    bool single; /* one thread at once: no lock, no read-modify-write */
    bool listens;
    _Atomic bool denial_said;  /* that the kernel refuses to copy */
    bool copies_denied;        /* the kernel refuses this process to copy */
    bool privileged;           /* it may have CAP_SYS_PTRACE: privilege.h */
    bool any_user;             /* else peers are processes of uid */
    uint32_t user_connections; /* of each other user, then */
    uid_t uid;                 /* the effective one when it was opened */
    bool has_key;              /* peers must hold it too: */
    uint8_t key[SM_KEY_SIZE];  /* a hash of open_info.auth_key */
    bool no_block;             /* na.wait/1 is not used */
    bool no_retry;             /* submissions may return AGAIN */
    bool membarrier;
    uint32_t max_unexpected;
    uint32_t max_expected;
    uint32_t ring_capacity; /* of the rings that this class sends into */
    uint64_t queue_limit;   /* bytes of unexpected messages in a context */
    uint64_t send_timeout_ns;
    uint64_t owner; /* random number that tells classes apart */
    na_plugin_addr *self;
    char alias[SM_PREFIX_MAX + 1]; /* the short name, if it was to be had */

    int epoll;    /* listening sockets, connections, their processes */
    int name_fd;  /* bound to the unique name */
    int alias_fd; /* to the short one, -1 without */
    struct sm_counters counters;

    _Atomic(na_plugin_ctx *) contexts[SM_CONTEXTS]; /* set once, then kept */

    alignas(64) struct tp_lock progress; /* guards all down to names */
    uint32_t countdown;     /* polls until the next look at the clock */
    bool kernel_due;        /* ask the kernel then, whatever the time */
    uint64_t look_ns;       /* when the clock was looked at last */
    uint64_t now_ns;        /* when the kernel was asked last */
    uint64_t kernel_ns;     /* when it is to be asked next */
    uint64_t deaf_until_ns; /* no descriptors left to accept; 0: listening */
    uint32_t sleepers;      /* contexts with their bits set in the rings */
    bool watched;           /* rings are marked so: sm_ring_watched */
    bool slept;             /* since the last sm_sleepers_look */
    uint64_t unwatch_ns;    /* when that ends if nobody sleeps meanwhile */
    struct sm_conn *hot;    /* circle: had a message of late; the next to be
                             looked at */
    struct sm_conn *cold;   /* circle of the others that can have one */
    uint32_t hot_count;
    uint32_t cold_count;
    uint64_t received;     /* messages */
    struct sm_conn *conns; /* all that are in use */
    struct sm_conn *ended; /* waiting for their last user */
    struct sm_conn *spare;
    struct sm_conn *stalled; /* have sends in their queue */
    uint32_t called;         /* connections without a hello yet */
    uint64_t serial;
    uint32_t retries; /* connections in SM_CONN_RETRY */
    uint32_t helping; /* connections with puts and gets that need help */
    uint64_t help_serial;

    struct tp_lock names; /* guards the table of addresses */
    na_plugin_addr **table;
    uint32_t table_bits;
    uint32_t table_count;

    struct tp_lock memory; /* guards the registrations */
    na_plugin_mem **mems;
    uint32_t mems_bits;
    uint32_t mems_count;
    struct tp_random random; /* keys of registrations, numbers of areas */
    struct sm_registry registry;
    struct sm_shared **shared; /* memory that peers may map */
    uint32_t shared_count;
    uint32_t shared_room;
    na_plugin_mem *mem_spare;
    uint32_t mem_spares;

    /* connections whose queue has just got its first send: pushed by any
     * thread, taken whole by the poller */
    _Atomic(struct sm_conn *) stalled_new;
    /* what all polls have to do beside looking at rings: connections with
     * queued sends, puts and gets in queues, refill */
    _Atomic uint32_t chores;
    _Atomic bool refill; /* sends to oneself may find room in a queue now */
};

/* Adds to a counter that only one thread writes at a time. */
static inline void
sm_count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_store_explicit(counter,
        atomic_load_explicit(counter, memory_order_relaxed) + more,
        memory_order_relaxed);
}

/* The same for one that several do. */
static inline void
sm_count_shared(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* One more, or one less, of what polls have to do. */
static inline void
sm_chore_add(na_plugin_class *cls)
{
    atomic_fetch_add_explicit(&cls->chores, 1, memory_order_relaxed);
}

static inline void
sm_chore_drop(na_plugin_class *cls)
{
    atomic_fetch_sub_explicit(&cls->chores, 1, memory_order_relaxed);
}

/* The next poll asks the kernel. [progress] */
static inline void
sm_kernel_due(na_plugin_class *cls)
{
    cls->kernel_due = true;
    cls->countdown = 1;
}

/* Context number id, NULL if there never was one. */
static inline na_plugin_ctx *
sm_class_context(na_plugin_class *cls, uint32_t id)
{
    /* acquire: pairs with the release in sm_ctx_create */
    return atomic_load_explicit(&cls->contexts[id], memory_order_acquire);
}

#endif /* SM_H */
