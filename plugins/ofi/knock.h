/* SPDX-License-Identifier: BSD-3-Clause */
/* Knocking: a connection to where a peer must listen, closed again at once. It
 * tells in no time, and without the peer's doing, whether the process is
 * there. */
#ifndef OFI_KNOCK_H
#define OFI_KNOCK_H

#include "ofi.h"

/* Begins, unless one is under way. */
void ofi_knock_begin(na_plugin_class *cls, na_plugin_addr *peer, uint64_t now);

/* What has become of it: a peer at whose address nobody listens is lost. */
void ofi_knock_look(na_plugin_class *cls, na_plugin_addr *peer, uint64_t now);

void ofi_knock_end(na_plugin_addr *peer);

/* Whether a local socket for an endpoint of this name is there; true as well
 * when it cannot be told. */
bool ofi_knock_answers(const struct ofi_name *name);

/* The local socket that peers of the same node knock at, where the transport
 * has none itself. */
int32_t ofi_knock_listen(na_plugin_class *cls);

#endif /* OFI_KNOCK_H */
