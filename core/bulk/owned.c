/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serialized descriptors of this class. One that is sent back refers to its
 * original by a random number of 64 bits, so that a process that was not given
 * the descriptor can't name it. So a transfer with oneself is a copy, has no
 * effect after the original was freed, and can't read other memory.
 */
#include "bulk/bulk.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define BUCKETS_AT_FIRST 64U

void
bulk_class_finish(struct bulk_class *bulk_class)
{
    free(bulk_class->owned.buckets);
    bulk_class->owned.buckets = NULL;
}

/* Returns a random number other than 0; 0 if the system has none yet. Called
 * under the lock. */
static uint64_t
draw(struct bulk_owned *owned)
{
    uint64_t number = 0;

    while (number == 0) {
        if (owned->random_left == 0) {
            if (getrandom(owned->random, sizeof owned->random, GRND_NONBLOCK) !=
                (ssize_t) sizeof owned->random)
                return 0;
            owned->random_left = BULK_OWNED_RANDOM;
        }
        number = owned->random[--owned->random_left];
        owned->random[owned->random_left] = 0;
    }
    return number;
}

/* Returns the link to the descriptor with this number, or where to insert it.
 * There are buckets. Called under the lock. */
static struct hg_bulk **
find_link(struct bulk_owned *owned, uint64_t number)
{
    struct hg_bulk **link = &owned->buckets[number & (owned->bucket_count - 1)];

    while (*link && atomic_load_explicit(
                        &(*link)->number, memory_order_relaxed) != number)
        link = &(*link)->owned_next;
    return link;
}

/* Grows the table to one bucket for each descriptor, if there is memory.
 * Returns whether there are any buckets. Called under the lock. */
static bool
grow(struct bulk_owned *owned)
{
    uint32_t old_count = owned->bucket_count;
    struct hg_bulk **old = owned->buckets;

    if (owned->count < old_count || old_count > UINT32_MAX / 2)
        return true;
    uint32_t count = old_count > 0 ? old_count * 2 : BUCKETS_AT_FIRST;
    struct hg_bulk **buckets = calloc(count, sizeof(struct hg_bulk *));

    if (!buckets)
        return old_count > 0;
    owned->buckets = buckets;
    owned->bucket_count = count;
    for (uint32_t i = 0; i < old_count; i++) {
        struct hg_bulk *bulk = old[i];

        while (bulk) {
            struct hg_bulk *next = bulk->owned_next;
            uint64_t number =
                atomic_load_explicit(&bulk->number, memory_order_relaxed);

            bulk->owned_next = buckets[number & (count - 1)];
            buckets[number & (count - 1)] = bulk;
            bulk = next;
        }
    }
    free(old);
    return true;
}

/* Adds a descriptor. Returns its number, or 0 on failure. Called under the
 * lock. */
static uint64_t
enter(struct bulk_owned *owned, struct hg_bulk *bulk)
{
    struct hg_bulk **link;
    uint64_t number;

    if (!grow(owned))
        return 0;
    do
        number = draw(owned);
    while (number != 0 && *find_link(owned, number));
    if (number == 0)
        return 0;
    link = find_link(owned, number);
    bulk->owned_next = *link;
    *link = bulk;
    owned->count++;
    atomic_store_explicit(&bulk->number, number, memory_order_relaxed);
    return number;
}

/* Relaxed here and below: numbers are only sent, and what they refer to is read
 * under the lock. The thread that frees a descriptor has its last reference,
 * taken with acquire in HG_Bulk_free. */
uint64_t
bulk_owned_number(struct hg_bulk *bulk)
{
    struct bulk_owned *owned = &bulk->bulk_class->owned;
    uint64_t number = atomic_load_explicit(&bulk->number, memory_order_relaxed);

    if (number != 0)
        return number;
    base_lock_acquire(&owned->lock);
    if (bulk_owner(bulk->bulk_class) == 0) /* 0 means none */
        atomic_store_explicit(&owned->owner, draw(owned), memory_order_relaxed);
    number = atomic_load_explicit(&bulk->number, memory_order_relaxed);
    if (number == 0 && bulk_owner(bulk->bulk_class) != 0)
        number = enter(owned, bulk);
    base_lock_release(&owned->lock);
    return number;
}

struct hg_bulk *
bulk_owned_find(struct bulk_class *bulk_class, uint64_t number)
{
    struct bulk_owned *owned = &bulk_class->owned;
    struct hg_bulk *bulk = NULL;
    int32_t refs = 0;

    base_lock_acquire(&owned->lock);
    if (number != 0 && owned->bucket_count > 0)
        bulk = *find_link(owned, number);
    /* If the last reference is being dropped, it is treated as freed; its
     * memory remains until it is removed here. */
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

    if (bulk->remote || number == 0)
        return;
    base_lock_acquire(&owned->lock);
    *find_link(owned, number) = bulk->owned_next;
    owned->count--;
    base_lock_release(&owned->lock);
}
