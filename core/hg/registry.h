/* SPDX-License-Identifier: BSD-3-Clause */
/* The RPCs of a class by id. Each request looks one up without a lock, while
 * others may be added: entries and tables are only added and replaced, and live
 * until the class is finalized. An RPC that is removed and registered again
 * unchanged is the same entry. */
#ifndef HG_REGISTRY_H
#define HG_REGISTRY_H

#include "base/lock.h"
#include "hg/stats.h"
#include "mercury_types.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

/* A removed entry is still in its slot; a replaced one may still be read by who
 * found it before; one without a handler serves no requests. */
enum hg_rpc_gone { HG_RPC_REMOVED = 1, HG_RPC_REPLACED, HG_RPC_NO_HANDLER };

struct hg_rpc {
    hg_id_t id;
    char *name;           /* NULL: registered by id */
    hg_proc_cb_t in_proc; /* never NULL: hg_rpc_no_proc */
    hg_proc_cb_t out_proc;
    hg_rpc_cb_t handler;
    _Atomic bool no_response;
    _Atomic uint8_t gone; /* enum hg_rpc_gone */
    _Atomic(void *) data; /* set under the lock, read without it */
    void (*data_free)(void *);
    _Atomic(struct hg_rpc_stats *) stats; /* NULL: without statistics */
    SLIST_ENTRY(hg_rpc) next;             /* all entries ever created */
};

/* Stands for a missing proc: encodes nothing; decoding and freeing return FAULT. */
hg_return_t hg_rpc_no_proc(hg_proc_t proc, void *data);

struct hg_rpc_table {
    struct hg_rpc_table *older;
    uint32_t capacity; /* a power of two, never more than half full */
    uint32_t used;
    _Atomic(struct hg_rpc *) slots[];
};

struct hg_registry {
    _Atomic(struct hg_rpc_table *) table;
    SLIST_HEAD(, hg_rpc) all;
    bool stats; /* keep them for each id */
    SLIST_HEAD(, hg_rpc_stats) all_stats;
    SLIST_HEAD(, hg_rpc_stats) spare_stats; /* of deregistered RPCs */
    hg_stats_fields forgotten_origin;       /* counts of deregistered RPCs */
    hg_stats_fields forgotten_target;
    struct base_lock lock;
};

hg_return_t hg_registry_init(
    struct hg_registry *registry, bool single, bool stats);
void hg_registry_finish(struct hg_registry *registry);

/* Returns the RPC of an id, or NULL. [any thread] */
struct hg_rpc *hg_registry_find(const struct hg_registry *registry, hg_id_t id);

/* Adds an RPC, or replaces its procs and handler. name may be NULL. EXIST: the
 * id belongs to another name; NOMEM. [any thread] */
hg_return_t hg_registry_add(struct hg_registry *registry, hg_id_t id,
    const char *name, hg_proc_cb_t in_proc, hg_proc_cb_t out_proc,
    hg_rpc_cb_t handler);

/* Sets the attached data, under the lock; hg_rpc_data reads without it. */
void hg_rpc_set_data(
    struct hg_rpc *rpc, void *data, void (*free_callback)(void *));

static inline void *
hg_rpc_data(const struct hg_rpc *rpc)
{
    /* Acquire pairs with the release in hg_rpc_set_data. */
    return atomic_load_explicit(&rpc->data, memory_order_acquire);
}

/* Returns 0 if hg_registry_find would return this entry, which it returned before,
 * for its id, and it has a handler. */
static inline unsigned
hg_rpc_gone(const struct hg_rpc *rpc)
{
    return atomic_load_explicit(&rpc->gone, memory_order_relaxed);
}

static inline bool
hg_rpc_has_no_response(const struct hg_rpc *rpc)
{
    return atomic_load_explicit(&rpc->no_response, memory_order_relaxed);
}

static inline bool
hg_rpc_is_removed(const struct hg_rpc *rpc)
{
    return atomic_load_explicit(&rpc->gone, memory_order_relaxed) ==
           HG_RPC_REMOVED;
}

static inline void
hg_rpc_set_gone(struct hg_rpc *rpc, uint8_t gone)
{
    atomic_store_explicit(&rpc->gone, gone, memory_order_relaxed);
}

static inline struct hg_rpc_stats *
hg_rpc_stats_of(const struct hg_rpc *rpc)
{
    return atomic_load_explicit(&rpc->stats, memory_order_relaxed);
}

/* Removes an RPC. NOENTRY: it is not registered. [any thread] */
hg_return_t hg_registry_remove(struct hg_registry *registry, hg_id_t id);

/* Returns the id of a name, the same in all processes. */
hg_id_t hg_registry_id(const char *name);

#endif /* HG_REGISTRY_H */
