/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash tables of links by peer and key, oldest first among equals. */
#ifndef SM_TABLE_H
#define SM_TABLE_H

#include "sm.h"

/* An empty table. NOMEM. */
int32_t sm_table_init(struct sm_table *table);

/* Frees what the table has allocated, not its links. */
void sm_table_fini(struct sm_table *table);

/* Makes room for more; without memory for it, the table stays as it is. */
void sm_table_grow(struct sm_table *table);

static inline struct sm_list *
sm_table_bucket(
    const struct sm_table *table, const na_plugin_addr *peer, uint64_t key)
{
    uint64_t mixed =
        (key ^ (uintptr_t) peer >> 4) * UINT64_C(0x9E3779B97F4A7C15);
    return &table->buckets[mixed >> table->shift];
}

/* Whether it is time to make room for more. */
static inline bool
sm_table_full(const struct sm_table *table)
{
    return table->count >= table->room;
}

/* Inserts a link whose peer and key are filled in, into one that is not full. */
static inline void
sm_table_add(struct sm_table *table, struct sm_link *link)
{
    table->count++;
    sm_list_append(sm_table_bucket(table, link->peer, link->key), link);
}

/* The same into any. */
static inline void
sm_table_insert(struct sm_table *table, struct sm_link *link)
{
    if (__builtin_expect(sm_table_full(table), 0))
        sm_table_grow(table);
    sm_table_add(table, link);
}

static inline void
sm_table_remove(struct sm_table *table, struct sm_link *link)
{
    table->count--;
    sm_list_remove(sm_table_bucket(table, link->peer, link->key), link);
}

/* The oldest link with this peer and key in a bucket, NULL if there is none. */
static inline struct sm_link *
sm_table_find(
    const struct sm_list *bucket, const na_plugin_addr *peer, uint64_t key)
{
    struct sm_link *link = bucket->head;
    while (link != NULL && (link->key != key || link->peer != peer))
        link = link->next;
    return link;
}

/* The same in the whole table, and takes it out. */
static inline struct sm_link *
sm_table_take(struct sm_table *table, const na_plugin_addr *peer, uint64_t key)
{
    struct sm_list *bucket = sm_table_bucket(table, peer, key);
    struct sm_link *link = sm_table_find(bucket, peer, key);
    if (link != NULL) {
        sm_list_remove(bucket, link);
        table->count--;
    }
    return link;
}

/* How many buckets there are, to go through all of them. */
static inline size_t
sm_table_buckets(const struct sm_table *table)
{
    return table->buckets == NULL ? 0 : (size_t) 1 << (64 - table->shift);
}

#endif /* SM_TABLE_H */
