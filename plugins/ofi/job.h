/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets. */
#ifndef OFI_JOB_H
#define OFI_JOB_H

#include "common/list.h"
#include "work.h"

/* A put or get at work. */
struct ofi_job {
    struct tp_link by_ctx;  /* context.jobs, or the class's spare ones */
    struct tp_link by_peer; /* peer.jobs, while pending there */
    na_plugin_ctx *ctx;
    na_plugin_addr *peer; /* one reference */
    struct ofi_op *op;    /* NULL: its context has gone */
    const na_plugin_mem *local;
    const na_plugin_mem *remote;
    uint64_t local_offset; /* these three move on */
    uint64_t remote_offset;
    uint64_t left;
    uint32_t flying; /* fragments that libfabric has */
    int32_t status;  /* the first error */
    bool put;
    bool verifying;    /* the get behind a put is on its way, or done */
    bool broken;       /* a fragment ended with its connection */
    uint64_t pause_ns; /* not before */
    uint8_t begun;     /* how often it has been begun again */
    uint64_t whole;    /* bytes of it, to begin it again with */
    uint64_t missed;   /* of those, what had not been begun when it broke */
};

/* What of it libfabric has in one call. */
struct ofi_fragment {
    struct ofi_work work;
    struct tp_link
        link; /* class.spare_fragments, context.flying, class.orphans */
    struct ofi_job *job;
    uint64_t serial; /* grows */
    bool at_once;    /* libfabric may do it while it is handed over */
    bool doubtful;   /* its target was deregistered meanwhile */
};

#endif /* OFI_JOB_H */
