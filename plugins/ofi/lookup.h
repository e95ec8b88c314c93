/* SPDX-License-Identifier: BSD-3-Clause */
/* The ABI's operations on addresses. */
#ifndef OFI_LOOKUP_H
#define OFI_LOOKUP_H

#include "types.h"

int32_t ofi_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p);
int32_t ofi_addr_lookup(
    na_plugin_class *cls, const char *text, na_plugin_addr **addr_p);
void ofi_addr_dup(na_plugin_class *cls, na_plugin_addr *addr);
void ofi_addr_free(na_plugin_class *cls, na_plugin_addr *addr);
int32_t ofi_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b);
uint64_t ofi_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr);
int32_t ofi_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p);
int32_t ofi_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p);
int32_t ofi_addr_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_addr **addr_p);
void ofi_addr_forget(na_plugin_class *cls, na_plugin_addr *addr);

#endif /* OFI_LOOKUP_H */
