/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash tables: chains of entries, as many chains as the next power of two above
 * the entries. */
#include "mercury_hash_table.h"

#include <stdlib.h>

#define CHAINS_AT_FIRST 16U /* a power of two */

struct hg_hash_table_entry {
    hg_hash_table_key_t key;
    hg_hash_table_value_t value;
    struct hg_hash_table_entry *next;
    unsigned int hash;
};

struct hg_hash_table {
    struct hg_hash_table_entry **chains;
    unsigned int chain_count; /* a power of two */
    unsigned int entry_count;
    hg_hash_table_hash_func_t hash;
    hg_hash_table_equal_func_t equal;
    hg_hash_table_key_free_func_t key_free;
    hg_hash_table_value_free_func_t value_free;
};

/* Spreads the bits: programs hash by addresses and small numbers. The factor is
 * 2^32 by the golden ratio (Knuth, The Art of Computer Programming, 6.4). */
static unsigned int
spread(unsigned int hash)
{
    uint32_t product = (uint32_t) hash * UINT32_C(2654435769);

    return product ^ product >> 16;
}

static struct hg_hash_table_entry **
chain_of(const hg_hash_table_t *table, unsigned int hash)
{
    return &table->chains[hash & (table->chain_count - 1)];
}

/* Where the entry of key is linked, or the end of its chain. */
static struct hg_hash_table_entry **
find(const hg_hash_table_t *table, hg_hash_table_key_t key, unsigned int hash)
{
    struct hg_hash_table_entry **link = chain_of(table, hash);

    while (*link && ((*link)->hash != hash || !table->equal((*link)->key, key)))
        link = &(*link)->next;
    return link;
}

static void
free_content(const hg_hash_table_t *table, struct hg_hash_table_entry *entry)
{
    if (table->key_free)
        table->key_free(entry->key);
    if (table->value_free)
        table->value_free(entry->value);
}

/* A table that can't grow works on with longer chains. */
static void
grow(hg_hash_table_t *table)
{
    unsigned int old_count = table->chain_count;
    struct hg_hash_table_entry **old = table->chains;
    struct hg_hash_table_entry **chains =
        old_count > UINT32_MAX / 2 ? NULL
                                   : calloc(old_count * 2ULL, sizeof *chains);

    if (!chains)
        return;
    table->chains = chains;
    table->chain_count = old_count * 2;
    for (unsigned int i = 0; i < old_count; i++) {
        struct hg_hash_table_entry *entry = old[i];

        while (entry) {
            struct hg_hash_table_entry *next = entry->next;
            struct hg_hash_table_entry **chain = chain_of(table, entry->hash);

            entry->next = *chain;
            *chain = entry;
            entry = next;
        }
    }
    free(old);
}

hg_hash_table_t *
hg_hash_table_new(
    hg_hash_table_hash_func_t hash_func, hg_hash_table_equal_func_t equal_func)
{
    hg_hash_table_t *table;

    if (!hash_func || !equal_func)
        return NULL;
    table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    table->chains = calloc(CHAINS_AT_FIRST, sizeof *table->chains);
    if (!table->chains) {
        free(table);
        return NULL;
    }
    table->chain_count = CHAINS_AT_FIRST;
    table->hash = hash_func;
    table->equal = equal_func;
    return table;
}

void
hg_hash_table_free(hg_hash_table_t *hash_table)
{
    if (!hash_table)
        return;
    for (unsigned int i = 0; i < hash_table->chain_count; i++) {
        struct hg_hash_table_entry *entry = hash_table->chains[i];

        while (entry) {
            struct hg_hash_table_entry *next = entry->next;

            free_content(hash_table, entry);
            free(entry);
            entry = next;
        }
    }
    free(hash_table->chains);
    free(hash_table);
}

void
hg_hash_table_register_free_functions(hg_hash_table_t *hash_table,
    hg_hash_table_key_free_func_t key_free_func,
    hg_hash_table_value_free_func_t value_free_func)
{
    hash_table->key_free = key_free_func;
    hash_table->value_free = value_free_func;
}

int
hg_hash_table_insert(hg_hash_table_t *hash_table, hg_hash_table_key_t key,
    hg_hash_table_value_t value)
{
    unsigned int hash = spread(hash_table->hash(key));
    struct hg_hash_table_entry **link = find(hash_table, key, hash);
    struct hg_hash_table_entry *entry = *link;

    if (entry) {
        free_content(hash_table, entry);
    } else {
        entry = calloc(1, sizeof *entry);
        if (!entry)
            return 0;
        entry->hash = hash;
        *link = entry;
        hash_table->entry_count++;
    }
    entry->key = key;
    entry->value = value;
    if (hash_table->entry_count > hash_table->chain_count)
        grow(hash_table);
    return 1;
}

hg_hash_table_value_t
hg_hash_table_lookup(hg_hash_table_t *hash_table, hg_hash_table_key_t key)
{
    const struct hg_hash_table_entry *entry =
        *find(hash_table, key, spread(hash_table->hash(key)));

    return entry ? entry->value : HG_HASH_TABLE_NULL;
}

int
hg_hash_table_remove(hg_hash_table_t *hash_table, hg_hash_table_key_t key)
{
    struct hg_hash_table_entry **link =
        find(hash_table, key, spread(hash_table->hash(key)));
    struct hg_hash_table_entry *entry = *link;

    if (!entry)
        return 0;
    *link = entry->next;
    hash_table->entry_count--;
    free_content(hash_table, entry);
    free(entry);
    return 1;
}

unsigned int
hg_hash_table_num_entries(hg_hash_table_t *hash_table)
{
    return hash_table->entry_count;
}

/* On to the first entry of a chain that has one, unless it is at an entry. */
static void
skip_empty(hg_hash_table_iter_t *iter)
{
    const hg_hash_table_t *table = iter->hash_table;

    while (!iter->next_entry && iter->next_chain < table->chain_count)
        iter->next_entry = table->chains[iter->next_chain++];
}

void
hg_hash_table_iterate(hg_hash_table_t *hash_table, hg_hash_table_iter_t *iter)
{
    iter->hash_table = hash_table;
    iter->next_entry = NULL;
    iter->next_chain = 0;
    skip_empty(iter);
}

int
hg_hash_table_iter_has_more(hg_hash_table_iter_t *iterator)
{
    return iterator->next_entry != NULL;
}

/* The iterator is past an entry when that is returned, so that it can go. */
hg_hash_table_value_t
hg_hash_table_iter_next(hg_hash_table_iter_t *iterator)
{
    const struct hg_hash_table_entry *entry = iterator->next_entry;
    hg_hash_table_value_t value;

    if (!entry)
        return HG_HASH_TABLE_NULL;
    value = entry->value;
    iterator->next_entry = entry->next;
    skip_empty(iterator);
    return value;
}
