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
#include "na_sm.h"
#include "rt/transport.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

struct bulk_op;

/* The class's own descriptors that have been serialized, by number: a peer may
 * bring one back. All zero at first. */
#define BULK_OWNED_RANDOM 16U
struct bulk_owned {
    struct base_lock lock;
    uint32_t random_left; /* of what follows */
    uint64_t random[BULK_OWNED_RANDOM];
    _Atomic uint64_t owner;   /* random: the class, among all; 0 until needed */
    struct hg_bulk **buckets; /* by number; linked by owned_next */
    uint32_t bucket_count;    /* a power of two, or 0 */
    uint32_t count;           /* descriptors in them */
};

/* The beginning of hg_class. */
struct bulk_class {
    struct na_class *na_class;
    struct na_class *sm_class; /* reaches peers of this node, or NULL */
    na_sm_id_t host;           /* this node, with sm_class */
    bool stats;                /* what follows is counted */
    bool no_eager;             /* data never travel inside descriptors */
    _Atomic uint64_t transfer_count;
    struct bulk_owned owned;
};

/* The beginning of hg_context. */
struct bulk_context {
    struct bulk_class *bulk_class;
    struct na_context *na_context;
    struct na_context *sm_context; /* of sm_class, or NULL */
    struct base_completion_queue completions;
    struct base_lock bulk_lock;
    LIST_HEAD(, bulk_op) free_ops[RT_TRANSPORTS];
    LIST_HEAD(, bulk_op) all_ops; /* new ones come before the first */
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

/* The transport of a side, or NULL. */
static inline struct na_class *
bulk_side_class(const struct bulk_class *bulk_class, unsigned side)
{
    return side == RT_MAIN ? bulk_class->na_class : bulk_class->sm_class;
}

/* No descriptor is left. */
void bulk_class_finish(struct bulk_class *bulk_class);

void bulk_context_init(struct bulk_context *context,
    struct bulk_class *bulk_class, struct na_context *na_context);

/* No transfer runs. */
void bulk_context_finish(struct bulk_context *context);

/* Memory that a transport knows as one registration: some of the segments of
 * a descriptor, at most as many as the plugin takes. */
struct bulk_part {
    na_plugin_mem *mem;
    hg_size_t size;
};

/* A descriptor as one transport knows it. */
struct bulk_side {
    bool usable; /* this transport can move its data */
    uint32_t part_count;
    struct bulk_part *parts; /* in the order of the segments */
    struct hg_addr addr;     /* the owner, when bound */
};

/* Whose a segment's memory is. */
enum bulk_allocated {
    BULK_CALLERS,
    BULK_SYSTEMS, /* ours, to be freed */
    BULK_PLUGINS  /* likewise, by talaria_mem_free */
};

/* One block with all that it points to, but for memory of segments. */
struct hg_bulk {
    struct bulk_class *bulk_class;
    _Atomic int32_t refs;
    uint8_t flags;      /* HG_BULK_READ_ONLY, HG_BULK_WRITE_ONLY */
    uint8_t context_id; /* of the owner, when bound */
    bool remote;        /* deserialized */
    bool bound;
    bool device; /* local: the memory is none that a processor reads */
    uint32_t segment_count;
    hg_size_t size;
    struct bulk_side sides[RT_TRANSPORTS];
    _Atomic uint64_t number; /* among the owner's, 0: none */

    na_plugin_segment *segments; /* local */
    uint8_t *allocated;          /* local: enum bulk_allocated, or NULL */

    struct hg_bulk *owned_next; /* local: in bulk_owned */

    uint64_t owner;      /* remote: number of the owner's class */
    unsigned char *wire; /* remote: the form that it came in */
    size_t wire_size;
    unsigned char *data; /* remote: in wire, the memory's bytes, or NULL */
};

/* A descriptor with one reference and room for that many segments, for parts
 * of each side, and for bytes of wire form; the bytes aside, zeroed. */
struct hg_bulk *bulk_alloc(struct bulk_class *bulk_class,
    uint32_t segment_count, const uint32_t part_counts[RT_TRANSPORTS],
    size_t bytes);

/* Writes the wire form (wire.c), with flags as HG_Bulk_serialize: *size_p are
 * the bytes that it takes. OVERFLOW: that is more than room; buf holds nothing
 * of use then. */
hg_return_t bulk_encode(struct hg_bulk *bulk, unsigned long flags, void *buf,
    size_t room, size_t *size_p);

/* Whether a descriptor is serialized with its data when that is asked for. */
bool bulk_may_be_eager(const struct hg_bulk *bulk);

/* The number of a local descriptor, from now on until it is freed, or 0. */
uint64_t bulk_owned_number(struct hg_bulk *bulk);

/* The number of a class, or 0: none of its descriptors went out yet. */
static inline uint64_t
bulk_owner(const struct bulk_class *bulk_class)
{
    return atomic_load_explicit(&bulk_class->owned.owner, memory_order_relaxed);
}

/* The local descriptor of a number, with one reference more; NULL when it is
 * freed. */
struct hg_bulk *bulk_owned_find(struct bulk_class *bulk_class, uint64_t number);

/* A descriptor that ends. */
void bulk_owned_forget(struct hg_bulk *bulk);

/* Copies memory between descriptors that lie in this process: from is local or
 * has its data inside, to is local. The ranges may overlap. NOMEM. */
hg_return_t bulk_copy(const struct hg_bulk *from, hg_size_t from_offset,
    const struct hg_bulk *to, hg_size_t to_offset, hg_size_t size);

#endif /* BULK_BULK_H */
