/* SPDX-License-Identifier: BSD-3-Clause */
/* Registering memory, and registrations as bytes. */
#ifndef UCX_MEM_H
#define UCX_MEM_H

#include "class.h"
#include "memory.h"

/* Frees the table with what is left; how many registrations that was. */
uint32_t ucx_mem_fini(na_plugin_class *cls);

/* An own registration by its number, NULL if there is none. [lock] */
static inline const na_plugin_mem *
ucx_mem_find(const na_plugin_class *cls, uint64_t number)
{
    struct tp_keyed *keyed = tp_table_find(&cls->mems, NULL, number);

    return keyed != NULL ? TP_OBJECT(keyed, na_plugin_mem, mem.keyed) : NULL;
}

/* The operations of the table. */
int32_t ucx_mem_register(na_plugin_class *cls, const na_plugin_mem_info *info,
    na_plugin_mem **mem_p);
void ucx_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem);
int32_t ucx_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem,
    void *buffer, uint64_t *size_p);
int32_t ucx_mem_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_mem **mem_p);
void ucx_mem_free(na_plugin_class *cls, na_plugin_mem *mem);

#endif /* UCX_MEM_H */
