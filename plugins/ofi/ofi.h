/* SPDX-License-Identifier: BSD-3-Clause */
/* A class and its endpoints. */
#ifndef OFI_H
#define OFI_H

#include <stdalign.h>
#include <stdatomic.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "common/list.h"
#include "common/lock.h"
#include "common/log.h"
#include "common/match.h"
#include "common/mutex.h"
#include "common/system.h"
#include "library.h"
#include "name.h"
#include "provider.h"

#define OFI_VERSION "0.1.0"

#define OFI_SENDERS 64U    /* a power of two */
#define OFI_QUIRKS_MAX 16U /* of a class */

/* Of an endpoint; na.report/1 adds them up. */
struct ofi_counters {
    uint64_t sent;
    uint64_t injected;
    uint64_t received;
    uint64_t to_self;
    uint64_t eagain_retries;
    uint64_t queued;
    uint64_t kept_unexpected;
    uint64_t dropped_expected;
    uint64_t forwarded; /* to endpoints that their senders did not know */
    uint64_t strayed;   /* for a context that is not there */
    uint64_t malformed;
    uint64_t no_memory; /* messages lost for want of it */
    uint64_t pings;
    uint64_t probes;
    uint64_t silent; /* connections shut down */
    uint64_t lost;
    uint64_t replaced;
    uint64_t put_bytes;
    uint64_t get_bytes;
    uint64_t fragments;
    uint64_t completion_errors;
};

/* Random numbers that no key has been made of yet. */
struct ofi_keys {
    struct tp_lock lock; /* guards the rest */
    struct tp_random random;
};

/* Messages of one size. */
struct ofi_pool {
    struct tp_list spare;
    struct ofi_slab *slabs;
    uint32_t room; /* bytes of a message */
    uint32_t made;
};

/* The cross-endpoint queue, see cross.h. */
struct ofi_cross {
    struct tp_lock lock;       /* guards the rest */
    struct tp_list expected;   /* struct ofi_cross_message */
    struct tp_list unexpected; /* likewise */
    uint64_t bytes;
    _Atomic uint32_t count;
    int event; /* the eventfd of a context that is armed, else -1 */
    bool set;  /* it was written to since then */
};

/* An endpoint of a class, with a queue of completions, a lock, which guards all that
 * does not say otherwise, and what it knows of peers. */
struct ofi_endpoint {
    na_plugin_class *cls; /* constant */
    uint32_t index;       /* constant: of its context; 0: the first one */
    bool shares;          /* constant: fabric and domain are the first one's */
    struct ofi_endpoint *next; /* of all of the process, endpoints.h */

    struct ofi_cross cross;
    uint32_t turns;          /* polls since it helped the first one */
    struct tp_list detained; /* messages that another has no room for */

    struct tp_mutex lock;

    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *fep; /* messages of all contexts, target of puts and gets */
    bool local_mr;      /* FI_MR_LOCAL */
    uint64_t inject_size;
    uint64_t fragment_max;

    struct ofi_name own_name;
    struct ofi_peer *self; /* this one */
    uint32_t header_length;
    unsigned char header[32 + 2 * OFI_NAME_MAX]; /* all of them begin so */

    struct tp_table peers;
    struct ofi_peer *senders[OFI_SENDERS]; /* recent senders: by the
                                              lowest bits of the number of a
                                              class, NULL: none */
    struct tp_list by_age;                 /* the same, oldest first */
    struct tp_list others; /* of them, those of a peer's further endpoints */
    uint32_t looks;        /* that ofi_peer_evict has to take */
    struct tp_list active; /* something of them is pending */
    uint32_t stuck;        /* of those, how many wait for libfabric */
    uint32_t polls;        /* since the clock was looked at */
    uint64_t look_ns;      /* when to look at the active ones again */

    uint32_t ping_number; /* of the last ping */
    bool keeps_addresses; /* libfabric's, also of peers that are forgotten */

    const struct ofi_quirk *quirks[OFI_QUIRKS_MAX + 1]; /* see quirk.h */
    void *quirk_data[OFI_QUIRKS_MAX];
    uint32_t quirk_polls;
    bool due;              /* quirks have something to do at each poll */
    bool connects;         /* libfabric may have opened sockets */
    struct ofi_gate *gate; /* a quirk's, see gate.h; NULL: none */

    na_plugin_ctx *contexts[OFI_CONTEXTS];
    uint32_t context_count;

    struct ofi_pool small;
    struct ofi_pool large;
    struct ofi_rx *rxs;
    uint32_t rx_count;
    unsigned char *rx_memory;
    size_t rx_bytes;
    size_t rx_room; /* bytes of the longest message, with its header */
    struct fid_mr *rx_mr;
    struct tp_list unposted;
    bool rx_multi; /* for many messages each, see receive.c */
    struct tp_list spare_kept;
    uint32_t spare_kept_count;
    struct ofi_kept_slab *kept_slabs;
    unsigned char *readback;         /* see mem.h; NULL without */
    struct fid_mr *readback_mr;      /* what peers read */
    struct fid_mr *readback_here_mr; /* where theirs arrives, if need be */
    struct tp_list held;             /* sends to oneself that wait for room */
    struct tp_list copying;          /* puts and gets to oneself, by_peer */
    struct tp_quota quota;           /* of copies of unexpected messages */
    uint32_t flushes;                /* on their way */
    struct tp_list spare_jobs;
    struct tp_list spare_fragments;
    struct tp_list orphans; /* fragments of destroyed contexts */
    struct ofi_slab *slabs; /* of jobs and fragments */

    int wait_fd; /* libfabric's */
    bool can_wait;
    bool naps;                 /* no wait object: sleeps are short */
    struct fid_wait *wait_set; /* NULL: the queue's own object */
    int listener; /* what peers of the same node probe, -1 without */

    struct ofi_counters counters;
    uint64_t mercury; /* messages of Mercury's, which were dropped */
};

/* A class. Its first endpoint is for its first context and all that have none of
 * their own: the class is known by its name, and the class's memory is put to and
 * got from there. Constant once it is open, if nothing else is said. */
struct na_plugin_class {
    struct ofi_endpoint *first;
    struct ofi_endpoint
        *_Atomic endpoints[OFI_CONTEXTS]; /* by context, each set
                                                             once */
    bool multi_endpoint;       /* contexts get endpoints of their own */
    _Atomic uint32_t vacant;   /* endpoints but the first without a context */
    _Atomic uint32_t attended; /* polls of the first context */

    const struct ofi_upcalls *upcalls;
    const na_plugin_host *host;
    const struct ofi_trait *trait;
    struct ofi_conduct conduct;
    bool single;
    bool no_block;
    bool no_retry;
    bool delivery;   /* FI_DELIVERY_COMPLETE is there */
    uint64_t number; /* random, not 0: this class, in headers */
    uint64_t max_unexpected;
    uint64_t max_expected;
    uint32_t context_max;
    uint64_t connect_ns;
    uint64_t host_ns;
    uint64_t retry_ns;
    uint64_t silence_ns;
    uint64_t send_ns;
    uint64_t silent_ns;

    na_plugin_addr *self;      /* one reference */
    struct tp_lock addrs_lock; /* after an endpoint's; guards: */
    struct tp_table addrs;
    struct tp_mutex memory_lock;
    struct tp_table mems; /* own registrations; memory_lock */
    uint64_t memory_id;   /* memory_lock */
    struct ofi_keys keys; /* of registrations, see key.h */

    na_plugin_multi_recv multi; /* the extension, with this class's size */
    char text_provider[64];
    char text_mr[96];
    char text_why[OFI_WHY]; /* why this device */
    char text_version[32];
    struct ofi_trait other; /* of a provider that the table lacks */
    char other_name[];
};

static inline bool
ofi_is_first(const struct ofi_endpoint *ep)
{
    return ep->cls->first == ep;
}

static inline uint64_t
ofi_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif /* OFI_H */
