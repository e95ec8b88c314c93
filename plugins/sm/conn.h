/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection, the poll lists it is in, the list of those that have sends
 * waiting, and what it reports to progress: that it is up, or down. establish.h
 * has its begin, work.h its end. */
#ifndef SM_CONN_H
#define SM_CONN_H

#include "class.h"
#include "range.h"
#include "ring.h"
#include "socket.h"

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
    SM_MEMORY_UNPROVEN, /* the next copy shows whose it is */
    SM_MEMORY_PROVEN,
    SM_MEMORY_REFUSED, /* it cannot be opened */
};

/*
 * The memory is not freed before the class: a sender may look at a connection
 * that has just ended; it then takes the lock and compares again.
 */
struct sm_conn {
    /* Receiving: progress. A look at the ring needs the first line only. */
    alignas(64) struct sm_conn *poll_next; /* poll lists are rings */
    struct sm_ring_rx rx;
    struct sm_conn *poll_prev;
    bool polled;     /* in one of the class's poll lists: */
    bool active;     /* the one looked at in each poll */
    bool wakeup_due; /* the peer has sent a wake-up, or is about to */

    /* Sending: lock; to end the connection, progress as well. */
    alignas(64) struct tp_lock lock;
    struct sm_ring_tx tx;
    struct tp_list queue; /* sends for which there was no room */
    uint64_t sent;        /* messages */
    uint64_t serial;      /* counts the uses of this memory */
    uint32_t users;       /* puts and gets at work on it */
    uint32_t mappings_count;
    struct sm_mapping *mappings;   /* the peer's shared segments, mapped or
                                    asked for; NULL: none */
    const unsigned char *registry; /* of the peer, NULL: it shows none */
    bool stalled;                  /* in one of the class's two lists */
    bool unassisted;               /* the peer has declined to copy a range */
    struct sm_range *range;        /* that the peer may copy, or NULL */
    uint32_t range_vain; /* ranges since the last one that it helped with, */
    uint32_t range_passed[2]; /* and since it was asked: short, long ones */
    struct sm_conn *stall_next;

    /* The rest: progress; down to called, lock as well to write, so that
     * either will do to read. */
    alignas(64) uint8_t state; /* enum sm_conn_state */
    _Atomic bool denied; /* no copies by the kernel: it refuses, or the peer's
                            user is another */
    _Atomic bool failed_copy;  /* the error of one has been logged */
    bool same_user;            /* as this class's */
    bool emulates;             /* the peer copies on request */
    bool assists;              /* and ranges of large gets, */
    bool assists_puts;         /* and of large puts */
    bool watched;              /* process.pidfd is in the class's epoll set */
    int fd;                    /* the socket, or -1 */
    int closing_fd;            /* the same, ended, while users copy; or -1 */
    int memory_fd;             /* privileged: sm_privilege_open_memory, or -1 */
    uint8_t memory;            /* enum sm_conn_memory */
    struct sm_process process; /* the peer's; its dead is not kept up to date */
    _Atomic uint64_t alive_ns; /* when its pidfd was last looked at */
    uint64_t owner;            /* the peer class's number, 0: not known yet */
    na_plugin_addr *peer;      /* one reference; NULL before hello */
    na_plugin_addr *called;    /* one reference; the name that was looked up */
    uint64_t retry_ns;         /* SM_CONN_RETRY: when to try again */
    uint64_t deadline_ns;      /* SM_CONN_RETRY, _CALLED: when to give up */
    na_plugin_ctx *blocked;    /* context whose queue holds the ring back */
    struct tp_list emulated;   /* puts and gets that the peer copies */
    uint32_t unanswered;       /* pieces asked of it */
    struct sm_request *requests; /* a ring of SM_REQUESTS: what it asked of us,
                                    NULL before it did */
    uint32_t requests_first;
    uint32_t requests_count;
    bool emulating;            /* emulated or requests are not empty */
    struct sm_range_task task; /* a range that the peer gets */
    struct tp_link report;     /* in class.reports, if it is one of these: */
    bool up;                   /* its peer has said hello */
    int32_t down;         /* the status that it ends with, if it is not OK; */
    bool hung_up;         /* what is left in its ring is delivered before */
    struct sm_conn *next; /* in class.conns, .spare or .ended */
    struct sm_conn *prev;
};

static_assert(offsetof(struct sm_conn, rx.control) < 64, "layout");

/* Name for log lines. */
const char *sm_conn_name(const struct sm_conn *conn);

/* Reports that its peer has said hello. [progress] */
void sm_conn_up(na_plugin_class *cls, struct sm_conn *conn);

/* Reports that it is to be ended, with the status of what is pending to or from
 * its peer; the first report counts. [progress] */
void sm_conn_down(na_plugin_class *cls, struct sm_conn *conn, int32_t status);

/* The same for a peer that has hung up or ended. */
void sm_conn_lost(na_plugin_class *cls, struct sm_conn *conn);

/* The same for a peer that has broken the protocol; logs how. */
void sm_conn_break(
    na_plugin_class *cls, struct sm_conn *conn, const char *wrong);

/* Sends a wake-up to the peer. [progress or lock] */
void sm_conn_wake_peer(na_plugin_class *cls, struct sm_conn *conn);

/* Enters the active poll list, newly or from the idle one; moves to the idle
 * one; leaves both. [progress] */
void sm_conn_poll(na_plugin_class *cls, struct sm_conn *conn);
void sm_conn_activate(na_plugin_class *cls, struct sm_conn *conn);
void sm_conn_idle(na_plugin_class *cls, struct sm_conn *conn);
void sm_conn_unpoll(na_plugin_class *cls, struct sm_conn *conn);

/* Reports to the poller that the queue has got its first send. [lock] */
void sm_conn_stall(na_plugin_class *cls, struct sm_conn *conn);

/* Moves the connections that were reported to cls->stalled. [progress] */
void sm_conn_collect_stalled(na_plugin_class *cls);

/* What the epoll set says of a connection's socket, or of its process. */
static inline uint64_t
sm_conn_tag(const struct sm_conn *conn, bool process)
{
    return (uint64_t) (uintptr_t) conn | (process ? 1 : 0);
}

#endif /* SM_CONN_H */
