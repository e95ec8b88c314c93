/* SPDX-License-Identifier: BSD-3-Clause */
/* What this class knows of a peer: where libfabric has it, and that something of it
 * is pending. All under the class's lock. */
#ifndef OFI_PEER_H
#define OFI_PEER_H

#include "types.h"

#define OFI_PEER_POLLS 64U /* between two looks at the clock */
#define OFI_PEER_LOOK_NS                                                       \
    (20 * TP_MS) /* between two looks, while sends are stuck */

/* Tells libfabric of it, once. A code. */
int32_t ofi_peer_reach(struct ofi_endpoint *ep, na_plugin_addr *peer);

/* Something is pending: liveness.c will look at it; nothing is any more. */
void ofi_peer_activate(struct ofi_endpoint *ep, na_plugin_addr *peer);
void ofi_peer_deactivate(struct ofi_endpoint *ep, na_plugin_addr *peer);

/* libfabric takes nothing for it at the moment; takes something again; nothing is
 * to be taken. */
void ofi_peer_stuck(struct ofi_endpoint *ep, na_plugin_addr *peer);
void ofi_peer_moved(struct ofi_endpoint *ep, na_plugin_addr *peer);
void ofi_peer_unstick(struct ofi_endpoint *ep, na_plugin_addr *peer);

/* Forgets it altogether, when nothing is pending. */
void ofi_peer_unknow(struct ofi_endpoint *ep, na_plugin_addr *peer);

#endif /* OFI_PEER_H */
