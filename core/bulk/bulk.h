/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bulk descriptors from the inside, and what this folder needs of the class and
 * the context that it works for: hg_class and hg_context begin with these.
 */
#ifndef BULK_BULK_H
#define BULK_BULK_H

#include "base/completion.h"
#include "base/lock.h"
#include "mercury_bulk.h"
#include "na/context.h"
#include "na/peer.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

struct bulk_op;

/* The beginning of hg_class. */
struct bulk_class {
    struct na_class *na_class;
    struct na_class *sm_class; /* reaches peers of this node, or NULL */
    bool stats;                /* what follows is counted */
    _Atomic uint64_t transfer_count;
};

/* The beginning of hg_context. */
struct bulk_context {
    struct bulk_class *bulk_class;
    struct na_context *na_context;
    struct na_context *sm_context; /* of sm_class, or NULL */
    struct base_completion_queue completions;
    struct base_lock bulk_lock;
    LIST_HEAD(, bulk_op) free_ops;
    _Atomic uint32_t op_count; /* transfers whose callback has not returned */
};

static inline struct bulk_class *
bulk_class_of(hg_class_t *hg_class)
{
    return (struct bulk_class *) hg_class;
}

static inline struct bulk_context *
bulk_context_of(hg_context_t *context)
{
    return (struct bulk_context *) context;
}

void bulk_context_init(struct bulk_context *context,
    struct bulk_class *bulk_class, struct na_context *na_context);

/* No transfer runs. */
void bulk_context_finish(struct bulk_context *context);

/* Memory that the transport knows as one registration: some of the segments of
 * a descriptor, at most as many as the plugin takes. */
struct bulk_part {
    na_mem_handle_t *mem;
    hg_size_t size;
};

/* Whose a segment's memory is. */
enum bulk_allocated {
    BULK_CALLERS,
    BULK_SYSTEMS, /* ours, to be freed */
    BULK_PLUGINS  /* likewise, by talaria_mem_free */
};

struct hg_bulk {
    struct bulk_class *bulk_class;
    _Atomic int32_t refs;
    uint8_t flags;      /* HG_BULK_READ_ONLY, HG_BULK_WRITE_ONLY */
    uint8_t context_id; /* of the owner, when bound */
    bool remote;        /* deserialized */
    bool bound;         /* addr is the owner's */
    uint32_t segment_count;
    uint32_t part_count;
    hg_size_t size;
    struct hg_addr addr;
    struct na_segment *segments; /* local */
    uint8_t *allocated;      /* local: enum bulk_allocated of each segment */
    struct bulk_part *parts; /* in the order of the segments */
};

/* A descriptor with room for that many segments and parts, one reference. */
struct hg_bulk *bulk_alloc(
    struct bulk_class *bulk_class, uint32_t segment_count, uint32_t part_count);

#endif /* BULK_BULK_H */
