/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations: of memory here, and of peers' memory as they described it.
 * And, where a provider does not report that a put has arrived, the byte that
 * is read back behind it: of memory that each class has for that, as the put's
 * own may not permit it. */
#ifndef OFI_MEM_H
#define OFI_MEM_H

#include "common/memory.h"
#include "types.h"

struct ofi_key {
    uint64_t key;
    struct fid_mr *mr; /* NULL: a peer's */
};

struct na_plugin_mem {
    struct tp_mem mem; /* own: in class.mems */
    uint64_t digest;   /* of all that is described, if a quirk needs it */
    bool own;          /* registered here, not a peer's */
    bool offsets;      /* own: its provider counts addresses from 0 */
    bool read_back;    /* its owner offers a byte, at: */
    uint64_t read_address;
    uint64_t read_key;
    struct ofi_key *keys;         /* of the segments, behind them */
    na_plugin_segment segments[]; /* a peer's: base is as its provider counts */
};

/* The operations of the ABI. */
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

/* The registration of this class that a description names, if they agree; else
 * NULL. [memory_lock] */
const na_plugin_mem *ofi_mem_own(
    const na_plugin_class *cls, const na_plugin_mem *described);

/* Where a segment begins, as the provider counts. */
static inline uint64_t
ofi_mem_address(const na_plugin_mem *mem, uint32_t segment)
{
    return mem->offsets ? 0 : (uintptr_t) mem->segments[segment].base;
}

/* The byte of an endpoint. With class.delivery nothing is needed. A code, with a
 * line. */
int32_t ofi_readback_init(struct ofi_endpoint *ep);
void ofi_readback_fini(struct ofi_endpoint *ep);

/* The destination of a peer's byte, and its descriptor. */
void *ofi_readback_here(const struct ofi_endpoint *ep, void **desc_p);

#endif /* OFI_MEM_H */
