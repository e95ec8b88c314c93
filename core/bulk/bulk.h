/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bulk descriptors, and what this folder needs of its class and context:
 * hg_class and hg_context begin with these structs.
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

/* Serialized descriptors of the class, by number, since a peer may send one
 * back. Initially zero. */
#define BULK_OWNED_RANDOM 16U
struct bulk_owned {
    struct base_lock lock;
    uint32_t random_left; /* unused entries of random */
    uint64_t random[BULK_OWNED_RANDOM];
    _Atomic uint64_t owner;   /* random number of the class; 0 until needed */
    struct hg_bulk **buckets; /* hash table by number, linked by owned_next */
    uint32_t bucket_count;    /* a power of two, or 0 */
    uint32_t count;           /* descriptors in the table */
};

/* The beginning of hg_class. */
struct bulk_class {
    struct na_class *na_class;
    struct na_class *sm_class; /* for peers of this node, or NULL */
    na_sm_id_t host;           /* id of this node, with sm_class */
    bool stats;                /* transfers are counted */
    bool no_eager;             /* descriptors are serialized without data */
    _Atomic uint64_t transfer_count;
    struct bulk_owned owned;
};

/* The beginning of hg_context. */
struct bulk_context {
    /* First: each call finds it without adding to an address. */
    struct base_completion_queue completions;
    struct bulk_class *bulk_class;
    struct na_context *na_context;
    struct na_context *sm_context; /* of sm_class, or NULL */
    struct base_lock bulk_lock;
    LIST_HEAD(, bulk_op) free_ops[RT_TRANSPORTS];
    LIST_HEAD(, bulk_op) all_ops; /* new ones are inserted first */
    _Atomic uint32_t op_count; /* transfers until their callback has returned */
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

/* Returns the class of a side's transport, or NULL. */
static inline struct na_class *
bulk_side_class(const struct bulk_class *bulk_class, unsigned side)
{
    return side == RT_MAIN ? bulk_class->na_class : bulk_class->sm_class;
}

/* Frees what the class holds. All descriptors were freed before. */
void bulk_class_finish(struct bulk_class *bulk_class);

void bulk_context_init(struct bulk_context *context,
    struct bulk_class *bulk_class, struct na_context *na_context);

/* Frees what the context holds. No transfer is in progress. */
void bulk_context_finish(struct bulk_context *context);

/* A registration of a transport: some of a descriptor's segments, at most as
 * many as the plugin supports. */
struct bulk_part {
    na_plugin_mem *mem;
    hg_size_t size;
};

/* A descriptor in one transport. */
struct bulk_side {
    bool usable; /* this transport can transfer the data */
    uint32_t part_count;
    struct bulk_part *parts; /* in the order of the segments */
    struct hg_addr addr;     /* the owner, when bound */
};

/* The owner of a segment's memory. */
enum bulk_allocated {
    BULK_CALLERS,
    BULK_SYSTEMS, /* freed with free() */
    BULK_PLUGINS  /* freed with talaria_mem_free */
};

/* One block with all that it points to, except the memory of segments. */
struct hg_bulk {
    struct bulk_class *bulk_class;
    _Atomic int32_t refs;
    uint8_t flags;      /* HG_BULK_READ_ONLY, HG_BULK_WRITE_ONLY */
    uint8_t context_id; /* of the owner, when bound */
    bool remote;        /* deserialized */
    bool bound;
    bool device; /* local: the memory is not CPU-accessible */
    uint32_t segment_count;
    hg_size_t size;
    struct bulk_side sides[RT_TRANSPORTS];
    _Atomic uint64_t number; /* number in the owner's class, 0: none */

    na_plugin_segment *segments; /* local */
    uint8_t *allocated;          /* local: enum bulk_allocated, or NULL */

    struct hg_bulk *owned_next; /* local: in bulk_owned */

    uint64_t owner;      /* remote: number of the owner's class */
    unsigned char *wire; /* remote: the serialized form */
    size_t wire_size;
    unsigned char *data; /* remote: eager data in wire, or NULL */
};

/* Allocates a descriptor with one reference, for that many segments, parts of
 * each side, and bytes of wire form. All but those bytes is zero. */
struct hg_bulk *bulk_alloc(struct bulk_class *bulk_class,
    uint32_t segment_count, const uint32_t part_counts[RT_TRANSPORTS],
    size_t bytes);

/* Writes the wire form (wire.c). flags: as of HG_Bulk_serialize. *size_p: bytes
 * that it takes. OVERFLOW: more than `room`; the content of buf is then
 * undefined. */
hg_return_t bulk_encode(struct hg_bulk *bulk, unsigned long flags, void *buf,
    size_t room, size_t *size_p);

/* Returns whether a descriptor can be serialized with its data. */
bool bulk_may_be_eager(const struct hg_bulk *bulk);

/* Returns the number of a local descriptor, valid until it is freed, or 0. */
uint64_t bulk_owned_number(struct hg_bulk *bulk);

/* Returns the number of a class; 0: it has serialized no descriptor yet. */
static inline uint64_t
bulk_owner(const struct bulk_class *bulk_class)
{
    return atomic_load_explicit(&bulk_class->owned.owner, memory_order_relaxed);
}

/* Returns the local descriptor of a number, with one more reference; NULL: it
 * was freed. */
struct hg_bulk *bulk_owned_find(struct bulk_class *bulk_class, uint64_t number);

/* Removes a descriptor that is being freed. */
void bulk_owned_forget(struct hg_bulk *bulk);

/* Copies memory between descriptors of this process: `from` is local or has
 * eager data, `to` is local. The ranges may overlap. NOMEM. */
hg_return_t bulk_copy(const struct hg_bulk *from, hg_size_t from_offset,
    const struct hg_bulk *to, hg_size_t to_offset, hg_size_t size);

#endif /* BULK_BULK_H */
