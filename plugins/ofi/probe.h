/* SPDX-License-Identifier: BSD-3-Clause */
/* Liveness probes: a connection to where a peer must listen, closed again at
 * once. It shows at once, and without any action of the peer, whether the
 * process exists. */
#ifndef OFI_PROBE_H
#define OFI_PROBE_H

#include "types.h"

/* Begins, unless one is under way, which keeps its patience; looks what has become
 * of it. Both return 0, or the error that shows that there is no listener at the
 * peer's address: ETIMEDOUT after `patience_ns` without an answer. */
int ofi_probe_begin(struct ofi_endpoint *ep, struct ofi_peer *peer,
    uint64_t now, uint64_t patience_ns);
int ofi_probe_look(struct ofi_peer *peer, uint64_t now);

void ofi_probe_end(struct ofi_peer *peer);

/* Whether a local socket for an endpoint of this name is there; true as well
 * when that is not known. */
bool ofi_probe_answers(const struct ofi_name *name);

/* The local socket that peers of the same node probe, where the transport has none
 * itself. */
int32_t ofi_probe_listen(struct ofi_endpoint *ep);

#endif /* OFI_PROBE_H */
