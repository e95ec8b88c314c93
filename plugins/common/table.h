/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash tables of links by a pointer and a number; what has equal keys is in order
 * of arrival. A table grows as long as there is memory, and gets slower without;
 * only tp_table_init fails. The caller locks. */
#ifndef TP_TABLE_H
#define TP_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

/* Lies in the objects. owner: most often a peer; only compared. */
struct tp_keyed {
    struct tp_link link;
    const void *owner;
    uint64_t key;
};

struct tp_table {
    struct tp_list *buckets;
    uint32_t count;
    uint32_t room;  /* it grows when count has come to this */
    uint32_t shift; /* leaves of a hash the number of a bucket */
};

/* An empty table. NA_PLUGIN_OK or NOMEM. */
int32_t tp_table_init(struct tp_table *table);

/* Frees what the table has allocated, not its links. A zeroed table is allowed. */
void tp_table_fini(struct tp_table *table);

/* Ends and counts all objects of a table, of which struct tp_keyed is the first
 * member: calls end, or free() if that is NULL. Then as tp_table_fini. */
uint32_t tp_table_free(struct tp_table *table,
    void (*end)(void *arg, struct tp_keyed *keyed), void *arg);

/* Makes room for more; without memory for it the table stays as it is. */
void tp_table_grow(struct tp_table *table);

/* Moves all links of owner, of any if that is NULL, to the end of list. */
void tp_table_take_all(
    struct tp_table *table, const void *owner, struct tp_list *list);

static inline struct tp_keyed *
tp_keyed_of(struct tp_link *link)
{
    return TP_OBJECT(link, struct tp_keyed, link);
}

static inline struct tp_list *
tp_table_bucket(const struct tp_table *table, const void *owner, uint64_t key)
{
    uint64_t mixed =
        (key ^ (uintptr_t) owner >> 4) * UINT64_C(0x9E3779B97F4A7C15);

    return &table->buckets[mixed >> table->shift];
}

/* Whether it is time to grow. */
static inline bool
tp_table_full(const struct tp_table *table)
{
    return table->count >= table->room;
}

/* Inserts a link with this owner and key into a table that is not full. */
static inline void
tp_table_add_as(struct tp_table *table, struct tp_keyed *keyed,
    const void *owner, uint64_t key)
{
    keyed->owner = owner;
    keyed->key = key;
    table->count++;
    tp_list_append(tp_table_bucket(table, owner, key), &keyed->link);
}

/* The same of a link whose owner and key are filled in. */
static inline void
tp_table_add(struct tp_table *table, struct tp_keyed *keyed)
{
    tp_table_add_as(table, keyed, keyed->owner, keyed->key);
}

/* The same into any table. */
static inline void
tp_table_insert(struct tp_table *table, struct tp_keyed *keyed)
{
    if (__builtin_expect(tp_table_full(table), 0))
        tp_table_grow(table);
    tp_table_add(table, keyed);
}

static inline void
tp_table_remove(struct tp_table *table, struct tp_keyed *keyed)
{
    table->count--;
    tp_list_remove(
        tp_table_bucket(table, keyed->owner, keyed->key), &keyed->link);
}

/* The oldest of a bucket with this owner and key, NULL if there is none. */
static inline struct tp_keyed *
tp_bucket_find(const struct tp_list *bucket, const void *owner, uint64_t key)
{
    for (struct tp_link *link = bucket->head; link != NULL; link = link->next) {
        struct tp_keyed *keyed = tp_keyed_of(link);
        if (keyed->key == key && keyed->owner == owner)
            return keyed;
    }
    return NULL;
}

static inline struct tp_keyed *
tp_table_find(const struct tp_table *table, const void *owner, uint64_t key)
{
    return tp_bucket_find(tp_table_bucket(table, owner, key), owner, key);
}

/* The same, removed. */
static inline struct tp_keyed *
tp_table_take(struct tp_table *table, const void *owner, uint64_t key)
{
    struct tp_list *bucket = tp_table_bucket(table, owner, key);
    struct tp_keyed *keyed = tp_bucket_find(bucket, owner, key);

    if (keyed != NULL) {
        tp_list_remove(bucket, &keyed->link);
        table->count--;
    }
    return keyed;
}

#endif /* TP_TABLE_H */
