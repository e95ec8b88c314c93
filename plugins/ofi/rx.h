/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers that messages come into, and messages that wait for their receive. */
#ifndef OFI_RX_H
#define OFI_RX_H

#include "common/match.h"
#include "work.h"

/* A buffer that messages come into: one, or many until it is released. */
struct ofi_rx {
    struct ofi_work work;
    struct tp_link link; /* class.unposted, as long as it is not posted */
    struct tp_kept kept; /* while a message is left in it */
    bool multi;          /* many */
    uint32_t left;       /* multi: messages that are left in it */
    bool released;       /* multi: libfabric puts nothing into it any more */
    unsigned char *data;
    void *desc;
};

#endif /* OFI_RX_H */
