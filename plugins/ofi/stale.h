/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory that processes which were killed have left behind. A peer that
 * takes an introduction from its queue looks for the memory of who sent it by
 * name, and crashes when it is not there (libfabric 1.17: smr_progress_connreq).
 * So each endpoint's file says whom its class has had to do with, and goes when
 * nobody of those is left. */
#ifndef OFI_STALE_H
#define OFI_STALE_H

#include "ofi.h"

/* Writes into an endpoint's file whose it is; lets it alone again, before it is
 * closed, or for good. [lock] */
void ofi_stale_mark(na_plugin_class *cls, struct fid_ep *ep);
void ofi_stale_unmark(na_plugin_class *cls, const struct fid_ep *ep);
void ofi_stale_unmark_all(na_plugin_class *cls);

/* Whether an endpoint's file is of the size that this plugin knows: a power of two.
 * Since 2.5 it is not; there shm works in another way. */
bool ofi_stale_can_mark(const na_plugin_class *cls, struct fid_ep *ep);

/* Notes in these files that libfabric will be told of a peer. [lock] */
void ofi_stale_meet(na_plugin_class *cls, const struct ofi_name *name);

/* Removes what the dead have left that nobody alive will look for. */
void ofi_stale_remove(const na_plugin_class *cls);

#endif /* OFI_STALE_H */
