/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations. */
#ifndef OFI_OP_H
#define OFI_OP_H

#include <stdalign.h>

#include "common/table.h"
#include "types.h"

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
    alignas(64) struct tp_keyed keyed; /* in the list of its kind */
    struct tp_link by_peer;            /* expected receive: in peer.receives */
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

#endif /* OFI_OP_H */
