/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts. */
#ifndef OFI_CTX_H
#define OFI_CTX_H

#include "common/table.h"
#include "types.h"

/* A context. */
struct na_plugin_ctx {
    struct ofi_endpoint *ep;
    uint32_t id;
    void *core;
    bool armed;

    na_plugin_event *ready; /* a ring of events that were not polled yet */
    uint32_t ready_size;
    uint32_t ready_first;
    uint32_t ready_count;
    uint32_t promised; /* operations that will want room in it */

    struct tp_list recvs;   /* for unexpected messages */
    struct tp_table posted; /* for expected messages */
    struct tp_list queue;   /* unexpected messages (struct ofi_kept) */
    struct tp_table kept;   /* expected ones that came before their receive */
    struct tp_list early;   /* the same by age */
    uint64_t early_bytes;
    struct tp_list jobs;
    struct tp_list sends; /* messages of its operations */

    struct fid_ep *rma_ep; /* puts and gets, NULL before the first one */
    struct tp_list flying; /* fragments that libfabric has */
    int wait_fd;           /* an epoll set: class.wait_fd, and bell */
    int bell;
    bool rung;
    bool guards;       /* the first endpoint's wait_fd is in it as well */
    uint32_t attended; /* the class's when it was last looked */
};

#endif /* OFI_CTX_H */
