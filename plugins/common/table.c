/* SPDX-License-Identifier: BSD-3-Clause */
/* The rare steps of a hash table. */
#include <stdlib.h>

#include "common/table.h"
#include "na_plugin.h"

#define BITS 6U /* of the number of buckets, to begin with */
#define BITS_MAX 24U

int32_t
tp_table_init(struct tp_table *table)
{
    table->count = 0;
    table->room = 1U << BITS;
    table->shift = 64 - BITS;
    table->buckets = calloc(1U << BITS, sizeof(struct tp_list));
    return table->buckets != NULL ? NA_PLUGIN_OK : NA_PLUGIN_E_NOMEM;
}

void
tp_table_fini(struct tp_table *table)
{
    free(table->buckets);
    *table = (struct tp_table){0};
}

static size_t
buckets_of(const struct tp_table *table)
{
    return table->buckets == NULL ? 0 : (size_t) 1 << (64 - table->shift);
}

void
tp_table_grow(struct tp_table *table)
{
    size_t buckets = buckets_of(table);
    struct tp_table grown = {.count = table->count,
        .room = (uint32_t) buckets * 2,
        .shift = table->shift - 1};
    struct tp_link *link;

    if (grown.shift < 64 - BITS_MAX)
        return;
    grown.buckets = calloc(buckets * 2, sizeof(struct tp_list));
    if (grown.buckets == NULL)
        return;
    for (size_t i = 0; i < buckets; i++)
        while ((link = tp_list_pop(&table->buckets[i])) != NULL) {
            const struct tp_keyed *keyed = tp_keyed_of(link);
            tp_list_append(
                tp_table_bucket(&grown, keyed->owner, keyed->key), link);
        }
    free(table->buckets);
    *table = grown;
}

void
tp_table_take_all(
    struct tp_table *table, const void *owner, struct tp_list *list)
{
    size_t buckets = table->count != 0 ? buckets_of(table) : 0;
    struct tp_link *next;

    for (size_t i = 0; i < buckets; i++)
        for (struct tp_link *link = table->buckets[i].head; link != NULL;
             link = next) {
            next = link->next;
            if (owner != NULL && tp_keyed_of(link)->owner != owner)
                continue;
            tp_list_remove(&table->buckets[i], link);
            tp_list_append(list, link);
            table->count--;
        }
}

uint32_t
tp_table_free(struct tp_table *table,
    void (*end)(void *arg, struct tp_keyed *keyed), void *arg)
{
    struct tp_list list = {NULL, NULL};
    struct tp_link *link;
    uint32_t count = 0;

    tp_table_take_all(table, NULL, &list);
    for (; (link = tp_list_pop(&list)) != NULL; count++) {
        if (end != NULL)
            end(arg, tp_keyed_of(link));
        else
            free(tp_keyed_of(link));
    }
    tp_table_fini(table);
    return count;
}
