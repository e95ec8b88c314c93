/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors of ours that went out into the world. One that comes back names
 * its original by a slot of this table and the slot's generation, so that a
 * transfer with oneself is a copy, and nothing when the original is gone.
 */
#include "bulk/bulk.h"

#include "base/time.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define SLOTS_AT_FIRST 64U
#define SLOTS_MAX (1U << 31)

struct bulk_slot {
    struct hg_bulk *bulk; /* NULL: free */
    uint32_t generation;
    uint32_t next_free;
};

void
bulk_class_finish(struct bulk_class *bulk_class)
{
    free(bulk_class->owned.slots);
    bulk_class->owned.slots = NULL;
}

/* Lock held. */
static void
choose_owner(struct bulk_owned *owned)
{
    uint64_t value = 0;

    if (getrandom(&value, sizeof value, GRND_NONBLOCK) != sizeof value)
        value = base_time_now() ^ (uintptr_t) owned << 16;
    atomic_store_explicit(
        &owned->owner, value | 1, memory_order_relaxed); /* never 0 */
}

/* Lock held. */
static bool
add_slots(struct bulk_owned *owned)
{
    uint32_t count =
        owned->slot_count > 0 ? owned->slot_count * 2 : SLOTS_AT_FIRST;
    struct bulk_slot *slots;

    if (count > SLOTS_MAX)
        return false;
    slots = realloc(owned->slots, count * sizeof *slots);
    if (!slots)
        return false;
    owned->slots = slots;
    for (uint32_t i = owned->slot_count; i < count; i++) {
        slots[i] = (struct bulk_slot){.next_free = owned->first_free};
        owned->first_free = i + 1;
    }
    owned->slot_count = count;
    return true;
}

uint64_t
bulk_owned_number(struct hg_bulk *bulk)
{
    struct bulk_owned *owned = &bulk->bulk_class->owned;
    uint64_t number = atomic_load_explicit(&bulk->number, memory_order_relaxed);
    struct bulk_slot *slot;

    if (number != 0)
        return number;
    base_lock_acquire(&owned->lock);
    number = atomic_load_explicit(&bulk->number, memory_order_relaxed);
    if (bulk_owner(bulk->bulk_class) == 0)
        choose_owner(owned);
    if (number == 0 && (owned->first_free != 0 || add_slots(owned))) {
        slot = &owned->slots[owned->first_free - 1];
        number = (uint64_t) slot->generation << 32 | owned->first_free;
        owned->first_free = slot->next_free;
        slot->bulk = bulk;
        atomic_store_explicit(&bulk->number, number, memory_order_relaxed);
    }
    base_lock_release(&owned->lock);
    return number;
}

struct hg_bulk *
bulk_owned_find(struct bulk_class *bulk_class, uint64_t number)
{
    struct bulk_owned *owned = &bulk_class->owned;
    uint32_t index = (uint32_t) number - 1;
    struct hg_bulk *bulk = NULL;
    int32_t refs = 0;

    base_lock_acquire(&owned->lock);
    if (index < owned->slot_count &&
        owned->slots[index].generation == number >> 32)
        bulk = owned->slots[index].bulk;
    /* One whose last reference is given back just now is as good as gone, but
     * not freed before it has left the table. */
    if (bulk)
        refs = atomic_load_explicit(&bulk->refs, memory_order_relaxed);
    while (
        refs > 0 && !atomic_compare_exchange_weak_explicit(&bulk->refs, &refs,
                        refs + 1, memory_order_relaxed, memory_order_relaxed))
        ;
    base_lock_release(&owned->lock);
    return refs > 0 ? bulk : NULL;
}

void
bulk_owned_forget(struct hg_bulk *bulk)
{
    struct bulk_owned *owned = &bulk->bulk_class->owned;
    uint64_t number = atomic_load_explicit(&bulk->number, memory_order_relaxed);
    struct bulk_slot *slot;

    if (bulk->remote || number == 0)
        return;
    base_lock_acquire(&owned->lock);
    slot = &owned->slots[(uint32_t) number - 1];
    slot->bulk = NULL;
    slot->generation++;
    slot->next_free = owned->first_free;
    owned->first_free = (uint32_t) number;
    base_lock_release(&owned->lock);
}
