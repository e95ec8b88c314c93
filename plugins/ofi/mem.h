/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations: of memory here, and of peers' memory as they described it. */
#ifndef OFI_MEM_H
#define OFI_MEM_H

#include "types.h"

int32_t ofi_mem_register(na_plugin_class *cls, const na_plugin_mem_info *info,
    na_plugin_mem **mem_p);
void ofi_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem);
int32_t ofi_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem,
    void *buffer, uint64_t *size_p);
int32_t ofi_mem_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_mem **mem_p);
void ofi_mem_free(na_plugin_class *cls, na_plugin_mem *mem);

/* Deregisters all that is left; how many. */
uint32_t ofi_mem_fini(na_plugin_class *cls);

/* Whether a description is one of memory that is registered here now, and tells
 * the truth about it. [memory_lock] */
bool ofi_mem_is_own(na_plugin_class *cls, const na_plugin_mem *described);

/* The piece that an offset, within the registration, lies in; and where. */
const struct ofi_segment *ofi_mem_find(
    const na_plugin_mem *mem, uint64_t offset, uint64_t *within_p);

#endif /* OFI_MEM_H */
