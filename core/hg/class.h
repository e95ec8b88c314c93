/* SPDX-License-Identifier: BSD-3-Clause */
/* The class: RPCs of a process over one or two transports. */
#ifndef HG_CLASS_H
#define HG_CLASS_H

#include "bulk/bulk.h"
#include "hg/header.h"
#include "hg/host_address.h"
#include "hg/limits.h"
#include "hg/net.h"
#include "hg/registry.h"
#include "mercury.h"

#include <stdatomic.h>
#include <stddef.h>

struct hg_class {
    struct bulk_class bulk; /* first: bulk_class_of */
    bool own_na_class;
    bool no_overflow;
    bool no_loopback;       /* calls to oneself use the transport */
    uint32_t take_flags;    /* HG_MESSAGE_*, of every received request */
    uint8_t checksum_flags; /* for sent headers */
    uint32_t post_init;     /* receives posted by a listening context */
    uint32_t post_incr;     /* number added when all are in use */
    bool no_multi_recv;
    uint32_t multi_recv_op_max;
    uint32_t multi_recv_copy_threshold;
    size_t in_offset; /* user's space before the payload */
    size_t out_offset;
    size_t handle_size; /* bytes of a handle with its operations */
    size_t send_at;     /* offsets of the operations */
    size_t recv_at;
    na_sm_id_t host; /* with a second net only: see host_address.h */
    char user[HG_HOST_USER_MAX];
    struct hg_net nets[RT_TRANSPORTS];
    unsigned net_count;
    struct hg_registry registry;
    struct hg_limits limits;
    _Atomic uint32_t context_count;
    _Atomic uint32_t addr_count;
    hg_return_t (*handle_create)(hg_handle_t handle, void *arg);
    void *handle_create_arg;
    void *data;
    void (*data_free)(void *);
    struct hg_counters counters;
    LIST_ENTRY(hg_class) all_next; /* of the process */
};

_Static_assert(offsetof(struct hg_class, bulk) == 0, "bulk_class_of casts");

static inline struct na_class *
hg_class_na(const struct hg_class *hg_class)
{
    return hg_class->bulk.na_class;
}

/* Increments a counter, if the class was opened with stats. */
static inline void
hg_count(const struct hg_class *hg_class, _Atomic uint64_t *counter)
{
    if (__builtin_expect(hg_class->bulk.stats, 0))
        atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Counts a malformed message of a peer. */
static inline void
hg_count_dropped(struct hg_class *hg_class)
{
    atomic_fetch_add_explicit(
        &hg_class->counters.dropped, 1, memory_order_relaxed);
}

#endif /* HG_CLASS_H */
