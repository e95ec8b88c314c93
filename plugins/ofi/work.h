/* SPDX-License-Identifier: BSD-3-Clause */
/* What libfabric works on: buffers that messages arrive in, messages out, and
 * fragments of puts and gets. */
#ifndef OFI_WORK_H
#define OFI_WORK_H

#include <rdma/fabric.h>
#include <rdma/fi_eq.h>

#include "common/match.h"
#include "common/memory.h"
#include "types.h"

/* Takes a completion of work submitted to libfabric; error is positive, or 0.
 * [lock] */
typedef void ofi_work_done(struct ofi_endpoint *ep, struct ofi_work *work,
    const struct fi_cq_data_entry *entry, int error);

/* Work submitted to libfabric begins with this; completions point back to it. */
struct ofi_work {
    struct fi_context2 fi; /* the provider's, and first */
    ofi_work_done *done;
};

/* A buffer that messages arrive in: one, or many until it is released. */
struct ofi_rx {
    struct ofi_work work;
    struct tp_link link; /* endpoint.unposted, as long as it is not posted */
    struct tp_kept kept; /* while a message is left in it */
    bool multi;          /* many */
    uint32_t left;       /* multi: messages that are left in it */
    bool released;       /* multi: libfabric puts nothing into it any more */
    unsigned char *data;
    void *desc;
};

/* A message on its way out, the plugin's copy. */
struct ofi_tx {
    struct ofi_work work;
    struct tp_link link;   /* peer.queue or peer.flying, or the pool */
    struct tp_link by_ctx; /* context.sends, while there is an operation */
    struct ofi_peer *peer; /* one reference */
    struct ofi_op *op;     /* NULL: none */
    void *desc;            /* of libfabric, if it requires one */
    struct ofi_pool *pool;
    uint32_t length;
    bool flush; /* counted in endpoint.flushes */
    bool lost;  /* its peer was given up while libfabric had it */
    unsigned char data[];
};

/* Puts one before all others of a list. */
static inline void
ofi_tx_push(struct tp_list *list, struct ofi_tx *tx)
{
    tx->link = (struct tp_link){.next = list->head};
    if (list->head != NULL)
        list->head->prev = &tx->link;
    else
        list->tail = &tx->link;
    list->head = &tx->link;
}

/* A put or get at work. */
struct ofi_job {
    struct tp_link by_ctx;  /* context.jobs, or the endpoint's spare ones */
    struct tp_link by_peer; /* peer.jobs, or endpoint.copying */
    na_plugin_ctx *ctx;
    struct ofi_peer *peer; /* one reference */
    struct ofi_op *op;     /* NULL: its context was destroyed */
    const na_plugin_mem *local;
    const na_plugin_mem *remote;
    struct tp_walk begin; /* all of it */
    struct tp_walk walk;  /* what has not been begun */
    uint32_t flying;      /* fragments that libfabric has */
    int32_t status;       /* the first error */
    bool put;
    bool verifying;    /* the get behind a put is on its way, or done */
    bool broken;       /* a fragment ended with its connection */
    uint64_t pause_ns; /* not before */
    uint8_t repeats;   /* how often it has been begun again */
};

/* What of it libfabric has in one call. */
struct ofi_fragment {
    struct ofi_work work;
    struct tp_link
        link; /* endpoint.spare_fragments or .orphans, context.flying */
    struct ofi_job *job;
    uint64_t serial;   /* grows */
    bool at_once;      /* libfabric may complete it during submission */
    bool stale_target; /* its target was deregistered meanwhile */
};

#endif /* OFI_WORK_H */
