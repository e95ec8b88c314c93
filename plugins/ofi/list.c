/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash tables that double when they are full. */
#include <stdlib.h>

#include "list.h"

#define FIRST_BITS 6U

bool
ofi_table_init(struct ofi_table *table)
{
    table->buckets = calloc((size_t) 1 << FIRST_BITS, sizeof(*table->buckets));
    table->count = 0;
    table->shift = 64 - FIRST_BITS;
    return table->buckets != NULL;
}

void
ofi_table_fini(struct ofi_table *table)
{
    free(table->buckets);
    table->buckets = NULL;
}

void
ofi_table_grow(struct ofi_table *table)
{
    size_t old_size = (size_t) 1 << (64 - table->shift);
    struct ofi_list *old = table->buckets;
    struct ofi_list *new = calloc(old_size * 2, sizeof(*new));
    if (new == NULL)
        return;

    table->buckets = new;
    table->shift--;
    for (size_t i = 0; i < old_size; i++)
        while (old[i].head != NULL) {
            struct ofi_keyed *keyed =
                OFI_OBJECT(ofi_list_pop(&old[i]), struct ofi_keyed, link);
            ofi_list_append(
                ofi_table_bucket(table, keyed->peer, keyed->key), &keyed->link);
        }
    free(old);
}
