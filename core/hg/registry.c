/* SPDX-License-Identifier: BSD-3-Clause */
/* The RPCs of a class by id. */
#include "hg/registry.h"

#include "base/log.h"
#include "mercury_proc.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define CAPACITY_MIN 64U

__attribute__((cold)) hg_id_t
hg_registry_id(const char *name)
{
    hg_id_t id = XXH32(name, strlen(name), 0);

    return id != 0 ? id : 1; /* 0 means no RPC */
}

static uint32_t
slot_of(hg_id_t id, uint32_t capacity)
{
    /* Ids of names are hashes already. Ids chosen by users are spread by a
     * multiplication with 2^64 / golden ratio. */
    return (uint32_t) (id * 0x9e3779b97f4a7c15ULL >> 32) & (capacity - 1);
}

/* Finds the slot of an id and its RPC, or a free slot and NULL. Without the
 * lock another thread may fill the slot at any time, also with another id: only
 * *rpc_p is reliable. */
static _Atomic(struct hg_rpc *) *
slot_find(struct hg_rpc_table *table, hg_id_t id, struct hg_rpc **rpc_p)
{
    uint32_t i = slot_of(id, table->capacity);

    for (;;) {
        /* Acquire pairs with the release in slot_set. */
        struct hg_rpc *rpc =
            atomic_load_explicit(&table->slots[i], memory_order_acquire);

        if (!rpc || rpc->id == id) {
            *rpc_p = rpc;
            return &table->slots[i];
        }
        i = (i + 1) & (table->capacity - 1);
    }
}

static struct hg_rpc_table *
table_create(uint32_t capacity, struct hg_rpc_table *older)
{
    struct hg_rpc_table *table =
        calloc(1, sizeof *table + capacity * sizeof table->slots[0]);

    if (!table)
        return NULL;
    table->capacity = capacity;
    table->older = older;
    return table;
}

__attribute__((cold)) hg_return_t
hg_registry_init(struct hg_registry *registry, bool single, bool stats)
{
    struct hg_rpc_table *table = table_create(CAPACITY_MIN, NULL);

    if (!table)
        return HG_NOMEM;
    atomic_init(&registry->table, table);
    SLIST_INIT(&registry->all);
    SLIST_INIT(&registry->all_stats);
    SLIST_INIT(&registry->spare_stats);
    registry->stats = stats;
    base_lock_init(&registry->lock, single);
    return HG_SUCCESS;
}

void
hg_rpc_set_data(struct hg_rpc *rpc, void *data, void (*free_callback)(void *))
{
    /* Release pairs with the acquire in hg_rpc_data. */
    atomic_store_explicit(&rpc->data, data, memory_order_release);
    rpc->data_free = free_callback;
}

static void
data_free(struct hg_rpc *rpc)
{
    void *data = hg_rpc_data(rpc);

    if (data && rpc->data_free)
        rpc->data_free(data);
    hg_rpc_set_data(rpc, NULL, NULL);
}

__attribute__((cold)) void
hg_registry_finish(struct hg_registry *registry)
{
    struct hg_rpc_table *table =
        atomic_load_explicit(&registry->table, memory_order_relaxed);
    struct hg_rpc_stats *stats;
    struct hg_rpc *rpc;

    while ((rpc = SLIST_FIRST(&registry->all)) != NULL) {
        SLIST_REMOVE_HEAD(&registry->all, next);
        data_free(rpc);
        free(rpc->name);
        free(rpc);
    }
    while ((stats = SLIST_FIRST(&registry->all_stats)) != NULL) {
        SLIST_REMOVE_HEAD(&registry->all_stats, next);
        free(stats);
    }
    while (table) {
        struct hg_rpc_table *older = table->older;

        free(table);
        table = older;
    }
}

struct hg_rpc *
hg_registry_find(const struct hg_registry *registry, hg_id_t id)
{
    /* Acquire pairs with the release in table_grow. */
    struct hg_rpc_table *table =
        atomic_load_explicit(&registry->table, memory_order_acquire);
    struct hg_rpc *rpc;

    slot_find(table, id, &rpc);
    if (!rpc || hg_rpc_is_removed(rpc))
        return NULL;
    return rpc;
}

static void
slot_set(_Atomic(struct hg_rpc *) *slot, struct hg_rpc *rpc)
{
    /* Release pairs with the acquire in slot_find. */
    atomic_store_explicit(slot, rpc, memory_order_release);
}

/* Makes room for one more. Called under the lock. */
static struct hg_rpc_table *
table_grow(struct hg_registry *registry)
{
    struct hg_rpc_table *table =
        atomic_load_explicit(&registry->table, memory_order_relaxed);
    struct hg_rpc_table *larger;

    if (table->used < table->capacity / 2)
        return table;
    larger = table_create(table->capacity * 2, table);
    if (!larger)
        return NULL;
    larger->used = table->used;
    for (uint32_t i = 0; i < table->capacity; i++) {
        struct hg_rpc *rpc =
            atomic_load_explicit(&table->slots[i], memory_order_relaxed);
        struct hg_rpc *none;

        if (rpc)
            slot_set(slot_find(larger, rpc->id, &none), rpc);
    }
    /* Release pairs with the acquire in hg_registry_find. */
    atomic_store_explicit(&registry->table, larger, memory_order_release);
    return larger;
}

/* Returns whether an id belongs to another name. */
static bool
taken(const struct hg_rpc *rpc, const char *name)
{
    return rpc && !hg_rpc_is_removed(rpc) && rpc->name && name &&
           strcmp(rpc->name, name) != 0;
}

static void
stats_forget(struct hg_registry *registry, struct hg_rpc_stats *stats)
{
    hg_stats_move(stats->origin, registry->forgotten_origin);
    hg_stats_move(stats->target, registry->forgotten_target);
}

/* Gets counters for an RPC; NULL: no memory. Called under the lock. */
static struct hg_rpc_stats *
stats_get(struct hg_registry *registry)
{
    struct hg_rpc_stats *stats = SLIST_FIRST(&registry->spare_stats);

    if (stats) {
        SLIST_REMOVE_HEAD(&registry->spare_stats, spare_next);
        stats_forget(registry, stats); /* late counts */
        return stats;
    }
    stats = calloc(1, sizeof *stats);
    if (stats)
        SLIST_INSERT_HEAD(&registry->all_stats, stats, next);
    return stats;
}

/* Sets the counters of an RPC: those of its predecessor with this id, unless it
 * was removed. Called under the lock. */
static bool
stats_add(struct hg_registry *registry, struct hg_rpc *rpc,
    const struct hg_rpc *before)
{
    struct hg_rpc_stats *stats;

    if (!registry->stats)
        return true;
    stats = before && !hg_rpc_is_removed(before) ? hg_rpc_stats_of(before)
                                                 : stats_get(registry);
    if (!stats)
        return false;
    stats->latest = rpc;
    atomic_store_explicit(&rpc->stats, stats, memory_order_relaxed);
    return true;
}

/* Called under the lock. */
static void
stats_remove(struct hg_registry *registry, const struct hg_rpc *rpc)
{
    struct hg_rpc_stats *stats = hg_rpc_stats_of(rpc);

    if (!stats)
        return;
    stats->latest = NULL;
    stats_forget(registry, stats);
    SLIST_INSERT_HEAD(&registry->spare_stats, stats, spare_next);
}

static bool
same_name(const struct hg_rpc *rpc, const struct hg_rpc *other)
{
    if (!rpc->name || !other->name)
        return rpc->name == other->name;
    return strcmp(rpc->name, other->name) == 0;
}

/* Returns whether a removed entry equals the one to be added. Threads that
 * still use it then see no change. Called under the lock. */
static bool
revivable(const struct hg_rpc *before, const struct hg_rpc *rpc)
{
    return before && hg_rpc_is_removed(before) &&
           before->in_proc == rpc->in_proc &&
           before->out_proc == rpc->out_proc &&
           before->handler == rpc->handler && same_name(before, rpc);
}

/* Called under the lock. */
static bool
revive(struct hg_registry *registry, struct hg_rpc *rpc)
{
    if (!stats_add(registry, rpc, rpc))
        return false;
    atomic_store_explicit(&rpc->no_response, false, memory_order_relaxed);
    hg_rpc_set_gone(rpc, rpc->handler ? 0 : HG_RPC_NO_HANDLER);
    return true;
}

/* *added_p: true if the new entry itself is in the table. Called under the
 * lock. */
static hg_return_t
add_locked(struct hg_registry *registry, struct hg_rpc *rpc, bool *added_p)
{
    struct hg_rpc_table *table = table_grow(registry);
    _Atomic(struct hg_rpc *) *slot;
    struct hg_rpc *before;

    if (!table)
        return HG_NOMEM;
    slot = slot_find(table, rpc->id, &before);
    if (taken(before, rpc->name)) {
        LOG_ERROR(HG, "RPCs \"%s\" and \"%s\" have the same id: rename one",
            before->name, rpc->name);
        return HG_EXIST;
    }
    if (revivable(before, rpc))
        return revive(registry, before) ? HG_SUCCESS : HG_NOMEM;
    if (!stats_add(registry, rpc, before))
        return HG_NOMEM;
    *added_p = true;
    if (!before) {
        table->used++;
    } else if (!hg_rpc_is_removed(before)) {
        /* Threads that found `before` may still read its data. */
        hg_rpc_set_data(rpc, hg_rpc_data(before), before->data_free);
        before->data_free = NULL;
        atomic_store_explicit(&rpc->no_response,
            atomic_load_explicit(&before->no_response, memory_order_relaxed),
            memory_order_relaxed);
    }
    hg_rpc_set_gone(rpc, rpc->handler ? 0 : HG_RPC_NO_HANDLER);
    SLIST_INSERT_HEAD(&registry->all, rpc, next);
    slot_set(slot, rpc);
    /* For those that remember it: see hg_rpc_gone. */
    if (before)
        hg_rpc_set_gone(before, HG_RPC_REPLACED);
    return HG_SUCCESS;
}

__attribute__((cold)) hg_return_t
hg_rpc_no_proc(hg_proc_t proc, void *data)
{
    return hg_proc_get_op(proc) == HG_ENCODE ? HG_SUCCESS : HG_FAULT;
}

__attribute__((cold)) hg_return_t
hg_registry_add(struct hg_registry *registry, hg_id_t id, const char *name,
    hg_proc_cb_t in_proc, hg_proc_cb_t out_proc, hg_rpc_cb_t handler)
{
    struct hg_rpc *rpc = calloc(1, sizeof *rpc);
    hg_return_t ret = HG_NOMEM;
    bool added = false;

    if (!rpc)
        return HG_NOMEM;
    rpc->id = id;
    rpc->in_proc = in_proc ? in_proc : hg_rpc_no_proc;
    rpc->out_proc = out_proc ? out_proc : hg_rpc_no_proc;
    rpc->handler = handler;
    rpc->name = name ? strdup(name) : NULL;
    if (name && !rpc->name)
        goto free_rpc;
    base_lock_acquire(&registry->lock);
    ret = add_locked(registry, rpc, &added);
    base_lock_release(&registry->lock);
    if (added)
        return ret;
    free(rpc->name);
free_rpc:
    free(rpc);
    return ret;
}

__attribute__((cold)) hg_return_t
hg_registry_remove(struct hg_registry *registry, hg_id_t id)
{
    struct hg_rpc *rpc;
    void *data = NULL;
    void (*free_callback)(void *) = NULL;

    base_lock_acquire(&registry->lock);
    rpc = hg_registry_find(registry, id);
    if (rpc) {
        hg_rpc_set_gone(rpc, HG_RPC_REMOVED);
        data = hg_rpc_data(rpc);
        free_callback = rpc->data_free;
        hg_rpc_set_data(rpc, NULL, NULL);
        stats_remove(registry, rpc);
    }
    base_lock_release(&registry->lock);
    if (data && free_callback)
        free_callback(data);
    return rpc ? HG_SUCCESS : HG_NOENTRY;
}
