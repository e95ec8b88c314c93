/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses. */
#ifndef OFI_ADDR_H
#define OFI_ADDR_H

#include <stdatomic.h>

#include <rdma/fabric.h>

#include "common/list.h"
#include "name.h"

/*
 * An address, once per endpoint for each name. It stays while there are references
 * or something is tied to it, and a while longer.
 *
 * Such an object stands for one endpoint of a peer. A class has one by whose name
 * it is known, and may have others. So what the core holds is the object of this
 * class's first endpoint for the first endpoint of a peer; all others stand for a
 * part of it, and refer to it.
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

    struct tp_link idle;   /* class.idle, while there is no reference */
    struct tp_link active; /* class.active */
    struct tp_link by_end; /* class.ends */
    bool is_idle;
    bool is_active;
    fi_addr_t fi_addr; /* FI_ADDR_NOTAVAIL: not in the AV */
    uint64_t number;   /* of the class that is there, 0: not heard of */
    _Atomic uint64_t forgotten; /* of the one before: not listened to any more;
                                   read by other endpoints */

    struct tp_list queue;    /* messages that libfabric would not take */
    struct tp_list receives; /* expected from it */
    struct tp_list jobs;     /* puts and gets */
    struct tp_list flying;   /* messages that libfabric has */
    uint32_t injected;       /* messages behind the last one of those */
    bool heard;              /* since heard_ns */
    bool blocked;            /* a job waits for libfabric */
    bool careful;            /* jobs one at a time */
    bool gone;         /* closed by this process: its memory must not be used */
    bool stale;        /* nobody was at its end: the first endpoint is used */
    uint64_t stuck_ns; /* since when it takes nothing, 0: it does */
    uint64_t heard_ns;
    uint64_t pinged_ns;
    uint32_t unanswered; /* pings */
    bool suspected;      /* of not being Talaria's, which was said */
    uint32_t asked;      /* number of the ping that barrier.c waits for */
    uint32_t answered;   /* number of the last ping that it answered */
    uint32_t pinged;     /* number of the last ping that came from it */
    bool here;           /* a class of this process */
    bool met;            /* libfabric has taken a message for it */
    uint64_t probed_ns;  /* when the last look began whether anybody listens */
    bool doubted; /* nobody listened, and nothing was heard of it since */
    int probe_fd; /* its socket, -1 without */
};

#endif /* OFI_ADDR_H */
