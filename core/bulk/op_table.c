/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ids of transfers. HG_Bulk_cancel gets only the id, perhaps long after the
 * transfer has completed and its memory was reused or freed. Therefore an id is
 * not a pointer, but a slot of this table and the slot's generation.
 */
#include "bulk/op.h"
#include "na/progress.h"

#include "base/log.h"

#include <pthread.h>
#include <stdlib.h>

#define CHUNK_SLOTS 256U
#define CHUNKS 4096U
#define SLOT_BITS 20U

_Static_assert(CHUNK_SLOTS *CHUNKS == 1U << SLOT_BITS, "a slot fits its bits");
_Static_assert(sizeof(hg_op_id_t) >= 4, "an id holds slot and generation");

struct slot {
    struct bulk_op *op;  /* NULL: free */
    uint32_t generation; /* of the operation; if free, of the last one */
    uint32_t next_free;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
/* The first one is not allocated: nothing could free it when the library is
 * unloaded. */
static struct slot first_chunk[CHUNK_SLOTS];
static struct slot *chunks[CHUNKS];
static uint32_t chunk_count, live_count;
static uint32_t first_free = UINT32_MAX;

static struct slot *
slot_at(uint32_t index)
{
    return &chunks[index / CHUNK_SLOTS][index % CHUNK_SLOTS];
}

/* Called under the lock. */
static hg_return_t
add_chunk(void)
{
    struct slot *chunk;

    if (chunk_count == CHUNKS)
        return HG_NOMEM;
    chunk = chunk_count == 0 ? first_chunk : calloc(CHUNK_SLOTS, sizeof *chunk);
    if (!chunk)
        return HG_NOMEM;
    chunks[chunk_count] = chunk;
    for (uint32_t i = 0; i < CHUNK_SLOTS; i++) {
        chunk[i].next_free = first_free;
        first_free = chunk_count * CHUNK_SLOTS + i;
    }
    chunk_count++;
    return HG_SUCCESS;
}

hg_return_t
bulk_op_table_add(struct bulk_op *op)
{
    hg_return_t ret = HG_SUCCESS;

    pthread_mutex_lock(&table_lock);
    if (first_free == UINT32_MAX)
        ret = add_chunk();
    if (ret == HG_SUCCESS) {
        op->slot = first_free;
        first_free = slot_at(op->slot)->next_free;
        slot_at(op->slot)->op = op;
        atomic_init(&op->generation, slot_at(op->slot)->generation);
        live_count++;
    }
    pthread_mutex_unlock(&table_lock);
    return ret;
}

void
bulk_op_table_remove(struct bulk_op *op)
{
    struct slot *slot;

    pthread_mutex_lock(&table_lock);
    slot = slot_at(op->slot);
    slot->op = NULL;
    slot->generation =
        atomic_load_explicit(&op->generation, memory_order_relaxed);
    slot->next_free = first_free;
    first_free = op->slot;
    live_count--;
    pthread_mutex_unlock(&table_lock);
}

static uint32_t
next_generation(struct bulk_op *op)
{
    uint32_t next =
        atomic_load_explicit(&op->generation, memory_order_relaxed) + 1;

    atomic_store_explicit(&op->generation, next, memory_order_relaxed);
    return next;
}

hg_op_id_t
bulk_op_table_begin(struct bulk_op *op)
{
    uintptr_t id = (uintptr_t) next_generation(op) << SLOT_BITS | op->slot;

    /* In use a generation is odd, so an id is never 0, HG_OP_ID_NULL. */
    return (hg_op_id_t) id;
}

void
bulk_op_table_end(struct bulk_op *op)
{
    base_lock_acquire(&op->lock);
    (void) next_generation(op);
    base_lock_release(&op->lock);
}

/* The bits of a generation that are in an id: all, or the low ones if pointers
 * have four bytes. */
static uintptr_t
in_id(uint32_t generation)
{
    return (uintptr_t) generation << SLOT_BITS >> SLOT_BITS;
}

static bool
is_of(const struct bulk_op *op, uint64_t id)
{
    uint32_t generation =
        atomic_load_explicit(&op->generation, memory_order_relaxed);

    return (generation & 1) != 0 && in_id(generation) == id >> SLOT_BITS;
}

/* Returns the transfer of an id if it is in progress. Called under the table's
 * lock. */
static struct bulk_op *
find(uint64_t id)
{
    uint32_t index = (uint32_t) (id & ((1U << SLOT_BITS) - 1));
    struct bulk_op *op;

    if (index / CHUNK_SLOTS >= chunk_count)
        return NULL;
    op = slot_at(index)->op;
    return op && is_of(op, id) ? op : NULL;
}

struct bulk_op *
bulk_op_table_find(hg_op_id_t id)
{
    struct bulk_op *op;

    pthread_mutex_lock(&table_lock);
    op = find((uint64_t) (uintptr_t) id);
    pthread_mutex_unlock(&table_lock);
    return op;
}

void
bulk_op_table_cancel_locked(hg_op_id_t id, void (*cancel)(struct bulk_op *op))
{
    uint64_t value = (uint64_t) (uintptr_t) id;
    struct bulk_op *op;

    pthread_mutex_lock(&table_lock);
    op = find(value);
    if (op) {
        /* A thread that completes the transfer waits for this lock before it
         * can be reused. */
        base_lock_acquire(&op->lock);
        if (is_of(op, value))
            cancel(op);
        base_lock_release(&op->lock);
    }
    pthread_mutex_unlock(&table_lock);
}

void
bulk_op_table_cancel(hg_op_id_t id, void (*cancel)(struct bulk_op *op))
{
    struct na_progress *progress = NULL;
    struct bulk_op *op;

    pthread_mutex_lock(&table_lock);
    op = find((uint64_t) (uintptr_t) id);
    if (op)
        progress = op->context->na_context->progress;
    pthread_mutex_unlock(&table_lock);
    if (!op)
        return;
    /* The context must not be destroyed while it is used. */
    na_progress_acquire(progress);
    bulk_op_table_cancel_locked(id, cancel);
    na_progress_release(progress);
}
