/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages on their way out. */
#ifndef OFI_TX_H
#define OFI_TX_H

#include "common/list.h"
#include "work.h"

/* A message on its way out, the plugin's copy. */
struct ofi_tx {
    struct ofi_work work;
    struct tp_link link;   /* peer.queue or peer.flying, or the pool */
    struct tp_link by_ctx; /* context.sends, while there is an operation */
    na_plugin_addr *peer;  /* one reference */
    struct ofi_op *op;     /* NULL: nobody waits for its end */
    void *desc;            /* of libfabric, if it wants one */
    struct ofi_pool *pool;
    uint32_t length;
    bool fence; /* counted in class.fences */
    bool lost;  /* its peer was given up while libfabric had it */
    unsigned char data[];
};

/* Of one size. */
struct ofi_pool {
    struct tp_list spare;
    struct ofi_slab *slabs;
    uint32_t room; /* bytes of a message */
    uint32_t made;
};

#endif /* OFI_TX_H */
