/* SPDX-License-Identifier: BSD-3-Clause */
/* The rare steps of a hash table. */
#include <stdlib.h>

#include "table.h"

#define BITS 6U /* of the number of buckets, to begin with */
#define BITS_MAX 24U

int32_t
sm_table_init(struct sm_table *table)
{
    table->count = 0;
    table->room = 1U << BITS;
    table->shift = 64 - BITS;
    table->buckets = calloc(1U << BITS, sizeof(struct sm_list));
    return table->buckets != NULL ? NA_PLUGIN_OK : NA_PLUGIN_E_NOMEM;
}

void
sm_table_fini(struct sm_table *table)
{
    free(table->buckets);
    *table = (struct sm_table){0};
}

void
sm_table_grow(struct sm_table *table)
{
    size_t buckets = sm_table_buckets(table);
    struct sm_table grown = {
        .count = table->count,
        .room = (uint32_t) buckets * 2,
        .shift = table->shift - 1,
    };

    if (grown.shift < 64 - BITS_MAX)
        return;
    grown.buckets = calloc(buckets * 2, sizeof(struct sm_list));
    if (grown.buckets == NULL)
        return;

    struct sm_link *link;
    for (size_t i = 0; i < buckets; i++)
        while ((link = sm_list_pop(&table->buckets[i])) != NULL)
            sm_list_append(
                sm_table_bucket(&grown, link->peer, link->key), link);
    free(table->buckets);
    *table = grown;
}
