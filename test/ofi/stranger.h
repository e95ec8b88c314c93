/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer that speaks libfabric without the plugin: it can send and ask for what
 * no class would. */
#ifndef STRANGER_H
#define STRANGER_H

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "harness.h"

/* An endpoint of the same provider. */
struct stranger {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    fi_addr_t victim;
};

/* Opens one that knows where the node listens: over IPv4, at the loopback. */
void stranger_open(struct stranger *stranger, struct node *node);
void stranger_close(struct stranger *stranger);

/* Sends, while the victim is polled and has nothing to report. */
void stranger_send(struct stranger *stranger, struct node *node,
    const unsigned char *bytes, size_t length);

/* Puts to, or gets from, the victim's memory: FI_SUCCESS, or what libfabric says
 * of it. */
int stranger_transfer(struct stranger *stranger, struct node *node, bool put,
    void *buffer, size_t length, uint64_t address, uint64_t key);

#endif /* STRANGER_H */
