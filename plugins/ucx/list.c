/* SPDX-License-Identifier: BSD-3-Clause */
/* The hash table: lists in buckets, as many as there are links. */
#include <stdbool.h>
#include <stdlib.h>

#include "list.h"
#include "na_plugin.h"

#define LEAST_BITS 4U
#define MOST_BITS 24U

static struct ucx_list *
bucket_of(const struct ucx_table *table, const void *whose, uint64_t key)
{
    uint64_t hash = ((uint64_t) (uintptr_t) whose >> 4) ^ key;

    hash = (hash ^ (hash >> 32)) * UINT64_C(0x9E3779B97F4A7C15);
    return &table->buckets[hash >> (64 - table->bits)];
}

int32_t
ucx_table_init(struct ucx_table *table)
{
    table->count = 0;
    table->bits = LEAST_BITS;
    table->buckets = calloc((size_t) 1 << LEAST_BITS, sizeof(*table->buckets));
    return table->buckets != NULL ? NA_PLUGIN_OK : NA_PLUGIN_E_NOMEM;
}

void
ucx_table_fini(struct ucx_table *table)
{
    free(table->buckets);
    *table = (struct ucx_table){.buckets = NULL};
}

static void
grow(struct ucx_table *table)
{
    struct ucx_table larger = {.bits = table->bits + 1};

    larger.buckets = calloc((size_t) 1 << larger.bits, sizeof(*larger.buckets));
    if (larger.buckets == NULL)
        return;
    for (size_t i = 0; i >> table->bits == 0; i++) {
        struct ucx_link *link;
        while ((link = ucx_list_pop(&table->buckets[i])) != NULL)
            ucx_list_append(bucket_of(&larger, link->whose, link->key), link);
    }
    free(table->buckets);
    table->buckets = larger.buckets;
    table->bits = larger.bits;
}

void
ucx_table_insert(struct ucx_table *table, struct ucx_link *link)
{
    if (table->count >> table->bits != 0 && table->bits < MOST_BITS)
        grow(table);
    ucx_list_append(bucket_of(table, link->whose, link->key), link);
    table->count++;
}

void
ucx_table_remove(struct ucx_table *table, struct ucx_link *link)
{
    ucx_list_remove(bucket_of(table, link->whose, link->key), link);
    table->count--;
}

struct ucx_link *
ucx_table_find(const struct ucx_table *table, const void *whose, uint64_t key)
{
    struct ucx_link *link = bucket_of(table, whose, key)->head;

    while (link != NULL && (link->whose != whose || link->key != key))
        link = link->next;
    return link;
}

struct ucx_link *
ucx_table_take(struct ucx_table *table, const void *whose, uint64_t key)
{
    struct ucx_link *link = ucx_table_find(table, whose, key);

    if (link != NULL)
        ucx_table_remove(table, link);
    return link;
}

void
ucx_table_take_all(
    struct ucx_table *table, const void *whose, struct ucx_list *list)
{
    if (table->buckets == NULL || table->count == 0)
        return;
    for (size_t i = 0; i >> table->bits == 0; i++) {
        struct ucx_link *next;
        for (struct ucx_link *link = table->buckets[i].head; link != NULL;
             link = next) {
            next = link->next;
            if (whose == NULL || link->whose == whose) {
                ucx_table_remove(table, link);
                ucx_list_append(list, link);
            }
        }
    }
}
