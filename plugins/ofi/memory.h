/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations. */
#ifndef OFI_MEMORY_H
#define OFI_MEMORY_H

#include "common/list.h"
#include "types.h"

/* A piece of a registration: as it is known here, or at a peer. */
struct ofi_segment {
    uint64_t base;    /* address here */
    uint64_t address; /* as the provider counts: the base again, or 0 */
    uint64_t length;
    uint64_t key;
    struct fid_mr *mr; /* NULL: a peer's */
};

struct na_plugin_mem {
    struct tp_link link; /* registered here: in class.memory */
    uint64_t owner;      /* number of the class whose memory it is */
    uint64_t id;         /* among those of that class */
    uint64_t digest;     /* of all that is described, if a quirk needs it */
    uint64_t length;
    uint32_t access;
    uint32_t count;
    bool registered;          /* here, not a peer's */
    struct ofi_segment fence; /* of its owner, length 0 without: see fence.h */
    struct ofi_segment segments[];
};

#endif /* OFI_MEMORY_H */
