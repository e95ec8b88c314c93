/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers by key. */
#include "watch/table.h"

#include <stdio.h>
#include <stdlib.h>

/* The numbers of an entry are one block: the totals, then the counts. */
static bool
entry_init(
    struct watch_entry *entry, size_t fields, uint64_t key, const char *name)
{
    entry->total = calloc(fields, sizeof(double) + sizeof(uint64_t));
    if (!entry->total)
        return false;
    entry->counted = (uint64_t *) (void *) (entry->total + fields);
    entry->key = key;
    snprintf(entry->name, sizeof entry->name, "%s", name ? name : "");
    return true;
}

bool
watch_table_init(struct watch_table *table, size_t capacity, size_t fields)
{
    *table = (struct watch_table){.capacity = capacity, .fields = fields};
    table->entries = calloc(capacity, sizeof *table->entries);
    if (!table->entries ||
        !entry_init(&table->entries[0], fields, 0, "others")) {
        free(table->entries);
        return false;
    }
    table->count = 1;
    return true;
}

struct watch_entry *
watch_table_get(struct watch_table *table, uint64_t key, const char *name)
{
    struct watch_entry *entry;

    for (size_t i = 0; i < table->count; i++)
        if (table->entries[i].key == key)
            return &table->entries[i];
    entry = &table->entries[table->count];
    if (table->count == table->capacity ||
        !entry_init(entry, table->fields, key, name))
        return &table->entries[0];
    table->count++;
    return entry;
}

void
watch_table_fold(struct watch_table *table, double (*factor_of)(size_t field))
{
    for (size_t i = 0; i < table->count; i++) {
        struct watch_entry *entry = &table->entries[i];

        if (!entry->changed)
            continue;
        entry->changed = false;
        for (size_t j = 0; j < table->fields; j++) {
            if (entry->counted[j] == 0)
                continue;
            entry->total[j] += (double) entry->counted[j] * factor_of(j);
            entry->counted[j] = 0;
        }
    }
}

uint64_t
watch_hash(const char *text)
{
    uint64_t number = UINT64_C(0xcbf29ce484222325);

    for (; *text; text++)
        number = (number ^ (unsigned char) *text) * UINT64_C(0x100000001b3);
    return number ? number : 1;
}
