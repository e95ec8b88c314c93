/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes and contexts. The class's lock guards all that is not said to be
 * constant or atomic. */
#ifndef UCX_CLASS_H
#define UCX_CLASS_H

#include <stdalign.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>

#include "common/event.h"
#include "common/log.h"
#include "common/match.h"
#include "common/mutex.h"
#include "common/report.h"
#include "common/system.h"
#include "common/table.h"
#include "common/wake.h"
#include "na_plugin.h"

#define UCX_CONTEXTS 256U /* numbers of contexts: a byte in a header */
#define UCX_TAG_MAX UINT32_MAX
#define UCX_SEGMENTS 1024U /* of a registration */
#define UCX_MESSAGE_DEFAULT 4096U
#define UCX_MESSAGE_MAX 65536U
#define UCX_NAME_MAX 127U /* of the text of an address, protocol and all */
#define UCX_EXPIRE_NS UINT64_C(20000000) /* between looks at all deadlines */
#define UCX_LOOK_NS UINT64_C(1000000000) /* and for hosts that are silent */

struct na_plugin_ctx {
    na_plugin_class *cls;
    void *core_ctx;
    uint32_t id;
    bool armed; /* sleeps, or is about to */
    struct tp_events events;
    struct tp_match match;
    struct tp_quota quota; /* of messages that this class sent to itself */
    struct tp_wake wake;   /* the worker's descriptor, and our own */
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
    uint64_t host_ns;
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
    const char *name;    /* of self */
    const char *version; /* UCX's */
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_listener_h listener;
    int worker_fd; /* -1: no waiting */

    struct ucx_counters counters; /* written under lock */
    uint64_t unsaid;              /* callers without a hello; for the log */
    uint64_t refused;             /* callers beyond the bound, likewise */
    uint64_t too_long;            /* messages longer than their receive */

    alignas(64) struct tp_mutex lock;
    na_plugin_ctx *contexts[UCX_CONTEXTS];
    uint32_t armed;    /* contexts that are */
    bool wake_due;     /* UCX was given something: a sleeping context looks */
    uint64_t now_ns;   /* when the clock was last looked at */
    uint64_t first_ns; /* no deadline is earlier */
    uint64_t cut_ns;   /* when sockets of silent hosts were shut down */
    uint64_t look_ns;  /* next look for hosts that are silent */
    uint32_t polls;    /* since then */
    uint32_t turns;    /* polls of UCX to be done in turn (turn.h), */
    uint32_t expected; /* and connections that are expected to end before */
    uint8_t marks_due; /* looks at all deadlines until UCX's descriptors are
                          marked; 0: they are */
    struct tp_list conns;
    struct tp_list closed;
    struct tp_list failed;  /* connections that report they are down, */
    struct tp_list touched; /* or have something for progress to do */
    uint32_t called;        /* connections without a hello */
    bool closing;           /* callers are rejected */
    struct tp_table tokens; /* connections by token */
    uint64_t serial;        /* calls made */
    struct tp_table peers;
    struct tp_table names; /* addresses by their name */
    uint32_t addrs;        /* all there are */
    struct tp_table mems;  /* registrations by their number */
    struct tp_random random;
    struct tp_list areas; /* memory that UCX has allocated */
    uint64_t rma_serial;
    struct tp_list spare_small; /* tx buffers */
    struct tp_list spare_large;
    uint32_t spare_larges;
};

/* Notes a deadline, and returns it. */
static inline uint64_t
ucx_deadline(na_plugin_class *cls, uint64_t deadline_ns)
{
    if (deadline_ns < cls->first_ns)
        cls->first_ns = deadline_ns;
    return deadline_ns;
}

#endif /* UCX_CLASS_H */
