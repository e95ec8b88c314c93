/* SPDX-License-Identifier: BSD-3-Clause */
/* FI_MULTI_RECV: a buffer takes messages one behind the other, and is posted
 * again once libfabric has released it and nothing is left in it. */
#ifndef OFI_MULTI_H
#define OFI_MULTI_H

#include "ofi.h"

/* Whether the class receives so. Its endpoint is enabled: shm crashes before. */
void ofi_multi_choose(na_plugin_class *cls);

/* How many buffers, and bytes of each. */
uint32_t ofi_multi_size(const na_plugin_class *cls, size_t *bytes_p);

void ofi_multi_fini(na_plugin_class *cls);

/* The rest under the lock. */

/* What libfabric says of it: 0 or negative. */
ssize_t ofi_multi_post(na_plugin_class *cls, struct ofi_rx *rx);

/* Before so many completions are read: messages may be left where they are.
 * False: no memory for that. */
bool ofi_multi_prepare(na_plugin_class *cls, uint32_t completions);

/* A message has come into one, or failed; or it has been released. */
void ofi_multi_done(na_plugin_class *cls, struct ofi_rx *rx,
    const struct fi_cq_data_entry *entry, int error);

struct ofi_kept *ofi_multi_keep(na_plugin_class *cls, struct ofi_rx *rx);
void ofi_multi_forget(na_plugin_class *cls, struct ofi_kept *kept);

#endif /* OFI_MULTI_H */
