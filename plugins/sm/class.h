/* SPDX-License-Identifier: BSD-3-Clause */
/* A class. Beside each group of fields stands the lock that guards it; README.md
 * has the order of the locks. */
#ifndef SM_CLASS_H
#define SM_CLASS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/list.h"
#include "common/lock.h"
#include "common/log.h"
#include "common/report.h"
#include "common/system.h"
#include "common/table.h"
#include "na_plugin.h"
#include "registry.h"

#define SM_VERSION "0.1.0"
#define SM_PROTOCOL "sm"

#define SM_CONTEXTS 256U /* context numbers: a byte in a record */
#define SM_TAG_MAX UINT32_MAX
#define SM_MESSAGE_DEFAULT 4096U
#define SM_MESSAGE_MAX 65536U

#define SM_PREFIX_MAX                                                          \
    64U                 /* characters of the name that a class is opened with */
#define SM_NAME_MAX 87U /* the same with "-<pid>-<number>" */
#define SM_KEY_SIZE 32U /* bytes of a hash */

struct sm_conn;

/* What has ended; live connections are added to sent, sent_bytes. */
struct sm_counters {
    _Atomic uint64_t sent;
    _Atomic uint64_t sent_bytes; /* with the records' headers and padding */
    _Atomic uint64_t self;       /* messages to oneself */
    _Atomic uint64_t queued;     /* unexpected messages without a receive */
    _Atomic uint64_t dropped;    /* expected messages without a receive */
    _Atomic uint64_t no_context; /* messages for a context that doesn't exist */
    _Atomic uint64_t too_long;   /* messages longer than their receive */
    _Atomic uint64_t stalls;     /* sends that found the ring full */
    _Atomic uint64_t connects;   /* connections made by either side */
    _Atomic uint64_t losses;     /* connections ended */
    _Atomic uint64_t broken;     /* of these, for breach of the protocol */
    _Atomic uint64_t refused;    /* callers of another user or key */
    _Atomic uint64_t wakeups;    /* sent to a sleeping peer */
    _Atomic uint64_t put_bytes;
    _Atomic uint64_t get_bytes;
    _Atomic uint64_t emulated_bytes; /* of both, copied by the owner */
    _Atomic uint64_t mapped_bytes;   /* of both, through mapped memory */
    _Atomic uint64_t burst_bytes;    /* of both, several in one system call */
    _Atomic uint64_t assisted_bytes; /* of peers' puts and gets, copied by this
                                class */
    _Atomic uint64_t segments;       /* shared segments of peers, mapped */
    _Atomic uint64_t refused_rma;    /* puts and gets, by a peer's registry */
};

struct na_plugin_class {
    /* constant after open */
    const na_plugin_host *host;
    bool single; /* one thread at a time: no lock, no read-modify-write */
    bool listens;
    bool copy_denied; /* the kernel forbids this process to copy */
    bool privileged;  /* it may have CAP_SYS_PTRACE: privilege.h */
    bool any_user;    /* else peers are processes of uid */
    bool has_key;     /* peers must have it too */
    bool no_block;    /* na.wait/1 is not used */
    bool no_retry;    /* submissions may return AGAIN */
    bool membarrier;
    bool demotes; /* lines of its records: sm_ring_demote */
    bool assists; /* copies ranges of peers' puts and gets, and lets them */
    uint8_t key[SM_KEY_SIZE];  /* a hash of open_info.auth_key */
    uid_t uid;                 /* the effective one when it was opened */
    uint32_t user_connections; /* of each other user */
    uint32_t max_unexpected;
    uint32_t max_expected;
    uint32_t longest; /* the larger of the two: of payloads in its rings */
    uint32_t short_unexpected; /* the same two, or SM_RING_SHORT if that is */
    uint32_t short_expected;   /* less: what send_lines may send */
    uint32_t ring_capacity;    /* of the rings that this class sends into */
    uint64_t queue_limit;      /* bytes of unexpected messages in a context */
    uint64_t send_timeout_ns;
    uint64_t owner; /* random number that tells classes apart */
    na_plugin_addr *self;
    const char *name;                   /* of self */
    char short_name[SM_PREFIX_MAX + 1]; /* without pid and number; "": none */
    int epoll;    /* listening sockets, connections, their processes */
    int name_fd;  /* bound to the unique name */
    int short_fd; /* to the short one, or -1 */

    _Atomic bool refusal_logged; /* that the kernel refuses to copy */
    struct sm_counters counters;
    _Atomic(na_plugin_ctx *) contexts[SM_CONTEXTS]; /* set once, then kept */

    alignas(64) struct tp_lock progress; /* guards all down to names */
    uint32_t countdown;     /* polls until the next look at the clock */
    bool kernel_due;        /* ask the kernel then, whatever the time */
    uint32_t look_polls;    /* from the last look at the clock to this one */
    uint64_t look_ns;       /* when the clock was last looked at, */
    uint64_t look_received; /* and `received` then */
    uint64_t now_ns;        /* when the kernel was last asked */
    uint64_t kernel_ns;     /* when it is to be asked next */
    uint64_t accept_ns;     /* out of descriptors until then; 0: accepting */
    uint32_t sleepers;      /* contexts with their bits set in the rings */
    bool watched;           /* rings are marked so: sm_ring_watched */
    bool slept;             /* since the last sm_sleepers_look */
    uint64_t unwatch_ns;    /* when that ends if no context sleeps */
    struct sm_conn *active; /* poll list: had a message of late; the next */
    struct sm_conn *idle;   /* poll list of the others that can have one */
    uint32_t active_count;
    uint32_t idle_count;
    uint32_t polled;        /* connections in both lists */
    uint64_t received;      /* messages */
    uint64_t rma_records;   /* received, of puts and gets */
    struct sm_conn *conns;  /* all that are in use */
    struct tp_list reports; /* of connections that are up, or down: work.h */
    struct sm_conn *ended;  /* waiting for their last user */
    struct sm_conn *spare;
    struct sm_conn *stalled;       /* have sends in their queue */
    uint32_t called;               /* connections without a hello yet */
    uint32_t retries;              /* connections in SM_CONN_RETRY */
    uint32_t emulating;            /* connections with emulated puts and gets */
    uint32_t assisting;            /* connections with a task */
    _Atomic uint32_t range_number; /* of the last range of a get */
    uint64_t serial;               /* of the last connection, */
    uint64_t rma_serial;           /* and the last emulated put or get */
    struct {                       /* filled in for each report */
        uint64_t sent;
        uint64_t sent_bytes;
        uint64_t peers;
        uint64_t peers_bytes;
        uint64_t ring_bytes;
        uint64_t send_timeout_s;
    } sums;

    struct tp_lock name_lock;
    struct tp_table names; /* addresses */

    struct tp_lock memory; /* guards the registrations */
    struct tp_table mems;
    struct tp_random random; /* ids of registrations and shared segments */
    struct sm_registry registry;
    struct sm_shared **shared; /* memory that peers may map */
    uint32_t shared_count;
    uint32_t shared_room;
    struct tp_list mem_spare;
    uint32_t mem_spares;

    /* connections whose queue has just got its first send: pushed by any
     * thread, taken whole by the poller */
    _Atomic(struct sm_conn *) stalled_new;
    /* what all polls have to do beside looking at rings: connections with
     * queued sends, puts and gets in queues, refill */
    _Atomic uint32_t pending;
    _Atomic bool refill; /* sends to oneself may find room in a queue now */
};

/* One pending thing more, or less, for polls to do. */
static inline void
sm_pending_add(na_plugin_class *cls)
{
    atomic_fetch_add_explicit(&cls->pending, 1, memory_order_relaxed);
}

static inline void
sm_pending_drop(na_plugin_class *cls)
{
    atomic_fetch_sub_explicit(&cls->pending, 1, memory_order_relaxed);
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

/* The next context from number *id_p on, NULL: none; *id_p moves behind it. */
static inline na_plugin_ctx *
sm_class_next(na_plugin_class *cls, uint32_t *id_p)
{
    na_plugin_ctx *ctx = NULL;

    while (ctx == NULL && *id_p < SM_CONTEXTS)
        ctx = sm_class_context(cls, (*id_p)++);
    return ctx;
}

#endif /* SM_CLASS_H */
