/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's objects: class, context, address, operation, and what is handed
 * to libfabric. The class's lock guards all that does not say otherwise. */
#ifndef OFI_H
#define OFI_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "library.h"
#include "list.h"
#include "lock.h"
#include "log.h"
#include "na_plugin.h"
#include "provider.h"

#define OFI_VERSION "0.1.0"

#define OFI_CONTEXTS 256U /* numbers of contexts: a byte in a header */
#define OFI_TAG_MAX UINT32_MAX
#define OFI_SEGMENTS 256U /* of a registration */
#define OFI_MESSAGE_DEFAULT 4096U
#define OFI_MESSAGE_MAX (1U << 20)
#define OFI_NAME_MAX 120U /* bytes of an endpoint's name */

#define OFI_WHY 128U          /* bytes of the reason for a device */
#define OFI_INJECT_LIMIT 512U /* bytes that are put together on the stack */

#define OFI_MS UINT64_C(1000000)
#define OFI_SECOND UINT64_C(1000000000)

/* The name of an endpoint as peers pass it on: what stands for an IPv4 address
 * is 6 bytes, for IPv6 22, else the provider's own. */
struct ofi_name {
    uint32_t length;
    uint8_t bytes[OFI_NAME_MAX];
};

/* What is handed to libfabric begins with this; completions lead back to it. */
enum ofi_work_kind {
    OFI_WORK_TX,
    OFI_WORK_RX,
    OFI_WORK_MULTI,
    OFI_WORK_FRAGMENT
};

struct ofi_work {
    struct fi_context2 fi; /* the provider's, and first */
    enum ofi_work_kind kind;
};

/* What an operation is, and where it stands. */
enum ofi_kind {
    OFI_OP_NONE, /* zeroed memory */
    OFI_OP_RECV_UNEXPECTED,
    OFI_OP_RECV_MULTI,
    OFI_OP_RECV_EXPECTED,
    OFI_OP_SEND,
    OFI_OP_SEND_SELF, /* to oneself, for want of room in the queue */
    OFI_OP_RMA,
};

enum ofi_state {
    OFI_OP_IDLE, /* zeroed memory, or it has ended */
    OFI_OP_POSTED,
};

/* The plugin's part of an operation. */
struct ofi_op {
    alignas(64) struct ofi_keyed keyed; /* in the list of its kind */
    struct ofi_link by_peer;            /* expected receive: in peer.receives */
    na_plugin_ctx *ctx;
    void *buffer;
    uint64_t length;
    uint64_t used; /* multi-receive: bytes given away */
    uint8_t kind;  /* enum ofi_kind */
    uint8_t state; /* enum ofi_state */
    uint8_t peer_ctx;
    uint8_t own_ctx;
    uint8_t own_kind; /* send to oneself: of enum ofi_header_kind */
    uint32_t tag;
    union {
        struct ofi_tx *tx;      /* send */
        struct ofi_job *job;    /* put, get */
        na_plugin_addr *source; /* expected receive: in whose list it is; one
                                   reference, unless it is the core's object */
    };
};

/* Random numbers that no key has been made of yet. */
#define OFI_KEYS 32U
struct ofi_keys {
    struct ofi_lock lock; /* guards the rest */
    uint64_t drawn[OFI_KEYS];
    uint32_t left;
};

/* What one class of a process leaves for another, see inbox.h. */
struct ofi_inbox {
    struct ofi_lock lock;       /* guards the rest */
    struct ofi_list expected;   /* messages; inbox.c */
    struct ofi_list unexpected; /* likewise */
    uint64_t bytes;
    _Atomic uint32_t count;
    int bell;  /* rung by what comes while it is armed, else -1 */
    bool rung; /* until it is disarmed */
};

/* A message on its way out, the plugin's copy. */
struct ofi_tx {
    struct ofi_work work;
    struct ofi_link link;   /* peer.queue or peer.flying, or the pool */
    struct ofi_link by_ctx; /* context.sends, while there is an operation */
    na_plugin_addr *peer;   /* one reference */
    struct ofi_op *op;      /* NULL: nobody waits for its end */
    void *desc;             /* of libfabric, if it wants one */
    struct ofi_pool *pool;
    uint32_t length;
    bool fence; /* counted in class.fences */
    bool lost;  /* its peer was given up while libfabric had it */
    unsigned char data[];
};

/* Of one size. */
struct ofi_pool {
    struct ofi_list spare;
    struct ofi_slab *slabs;
    uint32_t room; /* bytes of a message */
    uint32_t made;
};

/* A message that waits for its receive. */
struct ofi_kept {
    struct ofi_keyed keyed; /* context's queue, or table */
    struct ofi_link by_age; /* expected: in context.early */
    na_plugin_addr *from;   /* one reference */
    const unsigned char *data;
    uint32_t length;
    uint32_t tag;
    uint8_t source_ctx;
    struct ofi_rx *rx; /* NULL: a copy */
};

/* A buffer that messages come into: one, or, of kind OFI_WORK_MULTI, several
 * until it is released. */
struct ofi_rx {
    struct ofi_work work;
    struct ofi_link link; /* class.unposted, as long as it is not posted */
    struct ofi_kept kept; /* while a message is left in it */
    uint32_t left;        /* multi: messages that are left in it */
    bool released;        /* multi: libfabric puts nothing into it any more */
    unsigned char *data;
    void *desc;
};

/* A piece of a registration: as it is known here, or at a peer. */
struct ofi_segment {
    uint64_t base;    /* address here */
    uint64_t address; /* as the provider counts: the base again, or 0 */
    uint64_t length;
    uint64_t key;
    struct fid_mr *mr; /* NULL: a peer's */
};

struct na_plugin_mem {
    struct ofi_link link; /* registered here: in class.memory */
    uint64_t owner;       /* number of the class whose memory it is */
    uint64_t id;          /* among those of that class */
    uint64_t digest;      /* of all that is described, see valid.h */
    uint64_t length;
    uint32_t access;
    uint32_t count;
    bool registered;          /* here, not a peer's */
    struct ofi_segment fence; /* of its owner, length 0 without: see fence.h */
    struct ofi_segment segments[];
};

/* A put or get at work. */
struct ofi_job {
    struct ofi_link by_ctx;  /* context.jobs, or the class's spare ones */
    struct ofi_link by_peer; /* peer.jobs, while pending there */
    na_plugin_ctx *ctx;
    na_plugin_addr *peer; /* one reference */
    struct ofi_op *op;    /* NULL: its context has gone */
    const na_plugin_mem *local;
    const na_plugin_mem *remote;
    uint64_t local_offset; /* these three move on */
    uint64_t remote_offset;
    uint64_t left;
    uint32_t flying; /* fragments that libfabric has */
    int32_t status;  /* the first error */
    bool put;
    bool verifying;    /* the get behind a put is on its way, or done */
    bool broken;       /* a fragment ended with its connection */
    uint64_t pause_ns; /* not before */
    uint8_t begun;     /* how often it has been begun again */
    uint64_t whole;    /* bytes of it, to begin it again with */
    uint64_t missed;   /* of those, what had not been begun when it broke */
};

/* What of it libfabric has in one call. */
struct ofi_fragment {
    struct ofi_work work;
    struct ofi_link link; /* class.spare_fragments, or see lost.h */
    struct ofi_job *job;
    uint64_t serial; /* grows */
    bool at_once;    /* libfabric may do it while it is handed over */
    bool doubtful;   /* its target was deregistered meanwhile */
};

/*
 * An address, once per class for each name. It stays while there are references
 * or something is tied to it, and a while longer.
 *
 * Such an object stands for one endpoint. A class has one, by whose name it is
 * known, and another for each of its lanes (see lane.h). So what the core holds
 * is the object of the class itself for the first endpoint of a peer; those for
 * the peer's lanes, and all that a lane of this class has, stand for a part of
 * it, and refer to it.
 */
struct na_plugin_addr {
    na_plugin_addr *next; /* in the class's table of names */
    uint32_t hash;
    _Atomic uint32_t refs; /* any thread */
    bool self;             /* constant */
    uint8_t at;            /* constant: which of the peer's endpoints */
    na_plugin_addr *of;    /* constant: what the core has, or itself; if it is
                              another, one reference */
    struct ofi_name name;  /* constant: of the peer's class */
    struct ofi_name *end;  /* of the endpoint, NULL: not known; allocated if it
                              is not the class's first one */

    struct ofi_link idle;   /* class.idle, while there is no reference */
    struct ofi_link active; /* class.active */
    struct ofi_link by_end; /* class.ends */
    bool is_idle;
    bool is_active;
    fi_addr_t fi_addr; /* FI_ADDR_NOTAVAIL: not in the AV */
    uint64_t number;   /* of the class that is there, 0: not heard of */
    _Atomic uint64_t forgotten; /* of the one before: not listened to any more;
                                   read by lanes */

    struct ofi_list queue;    /* messages that libfabric would not take */
    struct ofi_list receives; /* expected from it */
    struct ofi_list jobs;     /* puts and gets */
    struct ofi_list flying;   /* messages that libfabric has */
    uint32_t injected;        /* messages behind the last one of those */
    bool heard;               /* since heard_ns */
    bool blocked;             /* a job waits for libfabric */
    bool careful;             /* jobs one at a time */
    bool gone;         /* closed by this process: its memory must not be used */
    bool stale;        /* nobody was at its end: the first endpoint is used */
    uint64_t stuck_ns; /* since when it takes nothing, 0: it does */
    uint64_t heard_ns;
    uint64_t pinged_ns;
    uint32_t unanswered; /* pings */
    bool suspected;      /* of not being Talaria's, which was said */
    uint32_t asked;      /* number of the ping that retire.c waits for */
    uint32_t answered;   /* number of the last ping that it answered */
    uint32_t pinged;     /* number of the last ping that came from it */
    bool here;           /* a class of this process */
    bool met;            /* libfabric has taken a message for it */
    uint64_t knocked_ns; /* when the last look began whether anybody listens */
    bool doubted; /* nobody listened, and nothing was heard of it since */
    int knock;    /* its socket, -1 without */
    struct ofi_valid *valid; /* its table of registrations, see valid.h */
    bool sought;             /* that was looked for, when its number was: */
    uint64_t sought_number;
};

/* The epoll sets in which the sockets of an endpoint are, see sever.c. */
#define OFI_SETS 2U
struct ofi_sets {
    int fds[OFI_SETS];
    uint32_t count;
};

/* A context. */
struct na_plugin_ctx {
    na_plugin_class *cls;
    uint32_t id;
    void *core;
    bool armed;

    na_plugin_event *ready; /* a ring of events that were not polled yet */
    uint32_t ready_size;
    uint32_t ready_first;
    uint32_t ready_count;
    uint32_t promised; /* operations that will want room in it */

    struct ofi_list recvs;   /* for unexpected messages */
    struct ofi_table posted; /* for expected messages */
    struct ofi_list queue;   /* unexpected messages (struct ofi_kept) */
    struct ofi_table kept;   /* expected ones that came before their receive */
    struct ofi_list early;   /* the same by age */
    uint64_t early_bytes;
    struct ofi_list jobs;
    struct ofi_list sends; /* messages of its operations */

    struct fid_ep *rma_ep; /* puts and gets, NULL before the first one */
    struct ofi_sets rma_sets;
    struct ofi_list flying; /* fragments that libfabric has */
    int wait_fd;            /* an epoll set: class.wait_fd, and bell */
    int bell;
    bool rung;
    bool guards; /* of a lane: the main class's wait_fd is in it as well */
    uint32_t attended; /* of a lane: the main class's when it was last looked */
};

/* Counters of na.report/1. */
struct ofi_counters {
    uint64_t sent;
    uint64_t injected;
    uint64_t received;
    uint64_t to_self;
    uint64_t eagain_retries;
    uint64_t queued;
    uint64_t kept_unexpected;
    uint64_t dropped_expected;
    uint64_t forwarded; /* to lanes that their senders did not know */
    uint64_t strayed;   /* for a context that is not there */
    uint64_t malformed;
    uint64_t no_memory; /* messages lost for want of it */
    uint64_t pings;
    uint64_t knocks;
    uint64_t silent; /* connections shut down */
    uint64_t lost;
    uint64_t replaced;
    uint64_t put_bytes;
    uint64_t get_bytes;
    uint64_t fragments;
    uint64_t completion_errors;
};

struct na_plugin_class {
    na_plugin_class *main; /* constant: whose lane it is; or itself */
    uint32_t lane;         /* constant: the number of its context, or 0 */
    bool apart;            /* constant: contexts but the first get lanes */
    bool shares; /* constant: fabric and domain are the main class's */
    na_plugin_class *_Atomic *lanes; /* main: by context, each set once */
    _Atomic uint32_t vacant;         /* main: lanes without a context */
    struct ofi_inbox inbox;
    uint32_t turns;            /* lane: polls since it helped the main class */
    _Atomic uint32_t attended; /* main: polls of its own context */
    struct ofi_list ends;      /* addresses whose end is allocated, by_end */
    struct ofi_list detained;  /* main: messages that a lane has no room for */

    const na_plugin_host *host;
    const struct ofi_trait *trait;
    struct ofi_lock lock;
    bool single;
    bool no_block;
    bool no_retry;

    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep; /* messages of all contexts, target of puts and gets */
    bool delivery;     /* FI_DELIVERY_COMPLETE is there */
    bool local_mr;     /* FI_MR_LOCAL */
    bool lock_mr;      /* registering needs the class's lock */
    uint64_t inject_size;
    uint64_t fragment_max;

    uint64_t number; /* random, not 0: this class, in headers */
    struct ofi_name own_name;
    na_plugin_addr *self;
    uint32_t header_length;
    unsigned char header[32 + 2 * OFI_NAME_MAX]; /* all of them begin so */
    uint64_t max_unexpected;
    uint64_t max_expected;

    na_plugin_addr **names; /* hash table */
    uint32_t names_size;
    uint32_t names_count;
    struct ofi_list idle; /* without a reference, oldest first */
    uint32_t idle_count;
    struct ofi_list active; /* something of them is pending */
    uint32_t stuck;         /* of those, how many wait for libfabric */
    uint32_t polls;         /* since the clock was looked at */
    uint64_t look_ns;       /* when to look at the active ones again */

    uint32_t ping_number;        /* of the last ping */
    struct ofi_retired *retired; /* see retire.h */
    uint64_t retired_ns;         /* when these were looked at */
    bool lingers;                /* libfabric has something of it for longer */
    struct ofi_mark *marks;      /* of its endpoints' files, see stale.h */

    struct ofi_list memory; /* registrations; memory_lock */
    struct ofi_lock memory_lock;
    uint64_t memory_id;
    struct ofi_valid *valid; /* table for peers, see valid.h; NULL without */
    uint32_t valid_count;
    int valid_fd;
    struct ofi_keys keys; /* main: of registrations, see key.h */

    na_plugin_ctx *contexts[OFI_CONTEXTS];
    uint32_t context_count;
    uint32_t context_max;

    struct ofi_pool small;
    struct ofi_pool large;
    struct ofi_rx *rxs;
    uint32_t rx_count;
    unsigned char *rx_memory;
    size_t rx_bytes;
    size_t rx_room; /* bytes of the longest message, with its header */
    struct fid_mr *rx_mr;
    struct ofi_list unposted;
    bool rx_multi; /* they are of kind OFI_WORK_MULTI, see multi.c */
    struct ofi_list spare_kept;
    uint32_t spare_kept_count;
    struct ofi_kept_slab *kept_slabs;
    unsigned char *fence;         /* see fence.h; NULL without */
    struct fid_mr *fence_mr;      /* what peers get */
    struct fid_mr *fence_here_mr; /* where theirs arrives, if need be */
    struct ofi_list held;         /* sends to oneself that wait for room */
    struct ofi_list copying;      /* puts and gets to oneself, by_peer */
    uint64_t kept_bytes;          /* copies of unexpected messages */
    uint32_t fences;              /* on their way */
    struct ofi_list spare_jobs;
    struct ofi_list spare_fragments;
    struct ofi_list orphans; /* fragments whose context has gone */
    bool lost;               /* ofi_lost_work has something to do */
    uint64_t asked_serial;   /* of the last fragment before peers were asked */
    struct ofi_slab *slabs;  /* of jobs and fragments */

    int wait_fd; /* libfabric's */
    bool can_wait;
    bool naps; /* libfabric cannot be asked whether to sleep, see retire.h */
    struct fid_wait *wait_set; /* NULL: the queue's own object */
    int listener; /* what peers of the same node knock at, -1 without */
    uint64_t scanned_ns;
    bool scan_due;

    int silent_folder; /* of the process's descriptors, -1 without: silent.h */
    uint32_t silent_polls;
    uint64_t silent_looked_ns;
    uint64_t silent_ns;

    uint64_t queue_limit;
    uint64_t retry_ns;
    uint64_t silence_ns;
    uint64_t send_ns;

    na_plugin_class *next;      /* of all classes of the process, fork.c */
    na_plugin_multi_recv multi; /* the extension, with this class's size */
    struct ofi_counters counters;
    uint64_t mercury; /* messages of Mercury's, which were dropped */
    char text_provider[64];
    char text_mr[96];
    char text_why[OFI_WHY]; /* why this device */
    char text_version[32];
    struct ofi_trait other; /* of a provider that the table lacks */
    char other_name[];
};

#endif /* OFI_H */
