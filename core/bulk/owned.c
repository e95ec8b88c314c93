/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors of ours that went out into the world. One that comes back names
 * its original by a number: a slot of this table, how often the slot was used,
 * and bits that nobody can guess. So a transfer with oneself is a copy, nothing
 * when the original is gone, and never from what the peer was not given.
 */
#include "bulk/bulk.h"

#include "base/time.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define SLOTS_AT_FIRST 64U
#define SLOT_BITS 24U /* of a number, then 8 of uses, then 32 random ones */
#define SLOT_MASK ((1U << SLOT_BITS) - 1)
#define USE_MASK 0xffU

struct bulk_slot {
    struct hg_bulk *bulk; /* NULL: free */
    uint64_t number;      /* of that one */
    uint32_t uses;
    uint32_t next_free;
};

void
bulk_class_finish(struct bulk_class *bulk_class)
{
    free(bulk_class->owned.slots);
    bulk_class->owned.slots = NULL;
}

/* What cannot be guessed, unless the system has nothing of the kind. The lock
 * is held. */
static uint64_t
draw(struct bulk_owned *owned)
{
    if (owned->random_left == 0) {
        ssize_t got =
            getrandom(owned->random, sizeof owned->random, GRND_NONBLOCK);

        if (got != sizeof owned->random)
            owned->random[0] = base_time_now() * 0x9e3779b97f4a7c15ULL;
        owned->random_left =
            got == sizeof owned->random ? BULK_OWNED_RANDOM : 1;
    }
    return owned->random[--owned->random_left];
}

/* Lock held. */
static bool
add_slots(struct bulk_owned *owned)
{
    uint32_t count =
        owned->slot_count > 0 ? owned->slot_count * 2 : SLOTS_AT_FIRST;
    struct bulk_slot *slots;

    if (count > SLOT_MASK)
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

/* A free slot for a descriptor. The lock is held. */
static uint64_t
take_slot(struct bulk_owned *owned, struct hg_bulk *bulk)
{
    uint32_t index = owned->first_free;
    struct bulk_slot *slot = &owned->slots[index - 1];

    owned->first_free = slot->next_free;
    slot->bulk = bulk;
    slot->uses++;
    slot->number =
        (draw(owned) << 32) | (slot->uses & USE_MASK) << SLOT_BITS | index;
    return slot->number;
}

/* Relaxed here and below: a number, and an owner, are values that go out; what
 * they lead to is looked at under the lock alone. Who ends a descriptor has its
 * last reference, taken with acquire in HG_Bulk_free. */
uint64_t
bulk_owned_number(struct hg_bulk *bulk)
{
    struct bulk_owned *owned = &bulk->bulk_class->owned;
    uint64_t number = atomic_load_explicit(&bulk->number, memory_order_relaxed);

    if (number != 0)
        return number;
    base_lock_acquire(&owned->lock);
    if (bulk_owner(bulk->bulk_class) == 0) /* 0 is for none */
        atomic_store_explicit(
            &owned->owner, draw(owned) | 1, memory_order_relaxed);
    number = atomic_load_explicit(&bulk->number, memory_order_relaxed);
    if (number == 0 && (owned->first_free != 0 || add_slots(owned))) {
        number = take_slot(owned, bulk);
        atomic_store_explicit(&bulk->number, number, memory_order_relaxed);
    }
    base_lock_release(&owned->lock);
    return number;
}

struct hg_bulk *
bulk_owned_find(struct bulk_class *bulk_class, uint64_t number)
{
    struct bulk_owned *owned = &bulk_class->owned;
    uint32_t index = (uint32_t) (number & SLOT_MASK) - 1;
    struct hg_bulk *bulk = NULL;
    int32_t refs = 0;

    base_lock_acquire(&owned->lock);
    if (index < owned->slot_count && owned->slots[index].number == number)
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
    slot = &owned->slots[(number & SLOT_MASK) - 1];
    slot->bulk = NULL;
    slot->next_free = owned->first_free;
    owned->first_free = (uint32_t) (number & SLOT_MASK);
    base_lock_release(&owned->lock);
}
