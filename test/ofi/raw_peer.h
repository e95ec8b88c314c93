/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer that uses libfabric without the plugin: it can send and request what
 * no class would. */
#ifndef RAW_PEER_H
#define RAW_PEER_H

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "harness.h"

/* An endpoint of the same provider. */
struct raw_peer {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    fi_addr_t victim;
};

/* Opens one that is connected to the node's address: over IPv4, at the
 * loopback. */
void raw_peer_open(struct raw_peer *raw, struct node *node);
void raw_peer_close(struct raw_peer *raw);

/* Sends, while the victim is polled and must not report an event. */
void raw_peer_send(struct raw_peer *raw, struct node *node,
    const unsigned char *bytes, size_t length);

/* Puts to, or gets from, the victim's memory. Returns FI_SUCCESS or libfabric's
 * error. */
int raw_peer_transfer(struct raw_peer *raw, struct node *node, bool put,
    void *buffer, size_t length, uint64_t address, uint64_t key);

#endif /* RAW_PEER_H */
