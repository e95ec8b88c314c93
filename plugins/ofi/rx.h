/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers that messages come into, and messages that wait for their receive. */
#ifndef OFI_RX_H
#define OFI_RX_H

#include "common/table.h"
#include "work.h"

/* A message that waits for its receive. */
struct ofi_kept {
    struct tp_keyed keyed; /* context's queue, or table */
    struct tp_link by_age; /* expected: in context.early */
    na_plugin_addr *from;  /* one reference */
    const unsigned char *data;
    uint32_t length;
    uint32_t tag;
    uint8_t source_ctx;
    struct ofi_rx *rx; /* NULL: a copy */
};

/* A buffer that messages come into: one, or many until it is released. */
struct ofi_rx {
    struct ofi_work work;
    struct tp_link link;  /* class.unposted, as long as it is not posted */
    struct ofi_kept kept; /* while a message is left in it */
    bool multi;           /* many */
    uint32_t left;        /* multi: messages that are left in it */
    bool released;        /* multi: libfabric puts nothing into it any more */
    unsigned char *data;
    void *desc;
};

#endif /* OFI_RX_H */
