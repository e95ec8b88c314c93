/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for what libfabric is working on. It is kept until the class goes, as a
 * provider may write about something that is long over. */
#ifndef OFI_POOL_H
#define OFI_POOL_H

#include "ofi.h"

/* A piece of a registered message memory, of room bytes; NULL: no memory. */
struct ofi_tx *ofi_pool_tx(na_plugin_class *cls, uint32_t room);
void ofi_pool_tx_free(struct ofi_tx *tx);

struct ofi_job *ofi_pool_job(na_plugin_class *cls);
struct ofi_fragment *ofi_pool_fragment(na_plugin_class *cls);

void ofi_pool_fini(na_plugin_class *cls);

/* Bytes of both. */
uint64_t ofi_pool_bytes(const na_plugin_class *cls);

#endif /* OFI_POOL_H */
