/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations, this class's own and those of peers. */
#ifndef UCX_MEM_H
#define UCX_MEM_H

#include "ucx.h"

struct na_plugin_mem {
    struct ucx_link link; /* own: in class.mems, by number */
    uint64_t owner;       /* number of the class */
    uint64_t serial;      /* of the registration */
    uint64_t total;       /* bytes of all segments */
    uint32_t access;
    uint32_t count;
    bool own;
    ucp_mem_h *handles;  /* own, registered with UCX: one for each segment */
    unsigned char *keys; /* their keys, packed: as serialized; NULL: none */
    uint32_t keys_length;
    struct ucx_list rings; /* a peer's: struct ucx_keyring, of connections */
    na_plugin_segment segments[];
};

int32_t ucx_mem_init(na_plugin_class *cls);

/* Frees what is left; how many registrations that was. */
uint32_t ucx_mem_fini(na_plugin_class *cls);

/* An own registration by its number, NULL if there is none. [lock] */
const na_plugin_mem *ucx_mem_find(const na_plugin_class *cls, uint64_t serial);

/* Whether a range lies within. */
static inline bool
ucx_mem_holds(const na_plugin_mem *mem, uint64_t offset, uint64_t length)
{
    return offset <= mem->total && length <= mem->total - offset;
}

/* Copies between an own registration and a buffer. */
void ucx_mem_read(
    const na_plugin_mem *mem, uint64_t offset, void *buffer, uint64_t length);
void ucx_mem_write(const na_plugin_mem *mem, uint64_t offset,
    const void *buffer, uint64_t length);

/* The segment that an offset lies in, and where in it; the last one's end for
 * the very end. */
uint32_t ucx_mem_locate(const na_plugin_mem *mem, uint64_t *offset_p);

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
