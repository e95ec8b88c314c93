/* SPDX-License-Identifier: BSD-3-Clause */
/* Doubly linked lists, and hash tables of such lists by a pointer and a number.
 * A link begins every object that stands in one, so that it is the object. */
#ifndef UCX_LIST_H
#define UCX_LIST_H

#include <stddef.h>
#include <stdint.h>

struct ucx_link {
    struct ucx_link *next;
    struct ucx_link *prev;
    const void *whose; /* these two for tables */
    uint64_t key;
};

struct ucx_list {
    struct ucx_link *head;
    struct ucx_link *tail;
};

static inline void
ucx_list_append(struct ucx_list *list, struct ucx_link *link)
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
ucx_list_remove(struct ucx_list *list, struct ucx_link *link)
{
    if (link->prev != NULL)
        link->prev->next = link->next;
    else
        list->head = link->next;
    if (link->next != NULL)
        link->next->prev = link->prev;
    else
        list->tail = link->prev;
}

static inline struct ucx_link *
ucx_list_pop(struct ucx_list *list)
{
    struct ucx_link *link = list->head;
    if (link != NULL)
        ucx_list_remove(list, link);
    return link;
}

/* Each bucket is in order of arrival. */
struct ucx_table {
    struct ucx_list *buckets;
    uint32_t count;
    uint32_t bits; /* of the number of buckets */
};

/* NA_PLUGIN_OK or NOMEM. */
int32_t ucx_table_init(struct ucx_table *table);

/* Frees the table; what stands in it is the caller's. */
void ucx_table_fini(struct ucx_table *table);

/* Adds a link, whose and key set. Without memory to grow it gets slower. */
void ucx_table_insert(struct ucx_table *table, struct ucx_link *link);

void ucx_table_remove(struct ucx_table *table, struct ucx_link *link);

/* The oldest link with these two, NULL if there is none. */
struct ucx_link *ucx_table_find(
    const struct ucx_table *table, const void *whose, uint64_t key);

/* The same, taken out. */
struct ucx_link *ucx_table_take(
    struct ucx_table *table, const void *whose, uint64_t key);

/* Takes out all links of whose, or with NULL all, into list. */
void ucx_table_take_all(
    struct ucx_table *table, const void *whose, struct ucx_list *list);

#endif /* UCX_LIST_H */
