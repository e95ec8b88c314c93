/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers by key: what was counted since the last fold, and totals. */
#ifndef WATCH_TABLE_H
#define WATCH_TABLE_H

#include "watch/page.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watch_entry {
    uint64_t key;
    char name[WATCH_NAME_SIZE];
    bool changed;
    uint64_t *counted; /* since the last fold */
    double *total;
};

struct watch_table {
    size_t capacity;
    size_t fields;
    size_t count;
    struct watch_entry *entries; /* the first has the key 0 */
};

/* Returns false if out of memory. */
bool watch_table_init(
    struct watch_table *table, size_t capacity, size_t fields);

/* Returns the entry of a key, which it adds; if there is no room, that of the
 * key 0, with the name "others". name: NULL: none. */
struct watch_entry *watch_table_get(
    struct watch_table *table, uint64_t key, const char *name);

/* Adds what was counted to the totals, times the factor of each field. */
void watch_table_fold(
    struct watch_table *table, double (*factor_of)(size_t field));

/* Hash of a text, never 0. */
uint64_t watch_hash(const char *text);

static inline void
watch_add(struct watch_entry *entry, size_t field, uint64_t value)
{
    entry->changed = true;
    entry->counted[field] += value;
}

#endif /* WATCH_TABLE_H */
