/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists and hash tables whose links lie in the objects. */
#ifndef OFI_LIST_H
#define OFI_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ofi_link {
    struct ofi_link *next;
    struct ofi_link *prev;
};

struct ofi_list {
    struct ofi_link *head;
    struct ofi_link *tail;
};

/* The object that a link is a member of. */
#define OFI_OBJECT(link, type, member)                                         \
    ((type *) (void *) ((char *) (link) -offsetof(type, member)))

static inline void
ofi_list_append(struct ofi_list *list, struct ofi_link *link)
{
    link->next = NULL;
    link->prev = list->tail;
    if (list->tail != NULL)
        list->tail->next = link;
    else
        list->head = link;
    list->tail = link;
}

static inline void
ofi_list_remove(struct ofi_list *list, struct ofi_link *link)
{
    if (link->prev != NULL)
        link->prev->next = link->next;
    else
        list->head = link->next;
    if (link->next != NULL)
        link->next->prev = link->prev;
    else
        list->tail = link->prev;
    link->next = link->prev = NULL;
}

static inline struct ofi_link *
ofi_list_pop(struct ofi_list *list)
{
    struct ofi_link *link = list->head;
    if (link != NULL)
        ofi_list_remove(list, link);
    return link;
}

/* A link with what a table finds it by: a pointer and a number. */
struct ofi_keyed {
    struct ofi_link link;
    const void *peer;
    uint64_t key;
};

/* A hash table; what has equal keys is in order of arrival. */
struct ofi_table {
    struct ofi_list *buckets;
    uint32_t count;
    uint32_t shift; /* leaves of a hash the number of a bucket */
};

/* An empty table. False: no memory. */
bool ofi_table_init(struct ofi_table *table);

/* Frees what the table has allocated, not its links. */
void ofi_table_fini(struct ofi_table *table);

/* Makes room for more; without memory for it, the table stays as it is. */
void ofi_table_grow(struct ofi_table *table);

static inline struct ofi_list *
ofi_table_bucket(const struct ofi_table *table, const void *peer, uint64_t key)
{
    uint64_t mixed =
        (key ^ (uintptr_t) peer >> 4) * UINT64_C(0x9E3779B97F4A7C15);
    return &table->buckets[mixed >> table->shift];
}

static inline void
ofi_table_insert(struct ofi_table *table, struct ofi_keyed *keyed)
{
    if (__builtin_expect(table->count >> (64 - table->shift) != 0, 0))
        ofi_table_grow(table);
    table->count++;
    ofi_list_append(
        ofi_table_bucket(table, keyed->peer, keyed->key), &keyed->link);
}

static inline void
ofi_table_remove(struct ofi_table *table, struct ofi_keyed *keyed)
{
    table->count--;
    ofi_list_remove(
        ofi_table_bucket(table, keyed->peer, keyed->key), &keyed->link);
}

/* The oldest with this peer and key, NULL if there is none. */
static inline struct ofi_keyed *
ofi_table_find(const struct ofi_table *table, const void *peer, uint64_t key)
{
    struct ofi_link *link = ofi_table_bucket(table, peer, key)->head;
    for (; link != NULL; link = link->next) {
        struct ofi_keyed *keyed = OFI_OBJECT(link, struct ofi_keyed, link);
        if (keyed->key == key && keyed->peer == peer)
            return keyed;
    }
    return NULL;
}

#endif /* OFI_LIST_H */
