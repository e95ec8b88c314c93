/* SPDX-License-Identifier: BSD-3-Clause */
/* Doubly linked lists whose links lie in the objects. A zeroed list is empty.
 * Nothing here allocates or locks. */
#ifndef TP_LIST_H
#define TP_LIST_H

#include <stddef.h>

struct tp_link {
    struct tp_link *next;
    struct tp_link *prev;
};

struct tp_list {
    struct tp_link *head;
    struct tp_link *tail;
};

/* The object that has this link as its member. */
#define TP_OBJECT(link, type, member)                                          \
    ((type *) (void *) ((char *) (link) -offsetof(type, member)))

static inline void
tp_list_append(struct tp_list *list, struct tp_link *link)
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
tp_list_remove(struct tp_list *list, struct tp_link *link)
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

/* Removes the first link of a list that isn't empty. */
static inline void
tp_list_drop_head(struct tp_list *list)
{
    struct tp_link *next = list->head->next;

    list->head = next;
    if (next != NULL)
        next->prev = NULL;
    else
        list->tail = NULL;
}

/* The first link, removed; NULL: the list is empty. */
static inline struct tp_link *
tp_list_pop(struct tp_list *list)
{
    struct tp_link *link = list->head;

    if (link != NULL)
        tp_list_drop_head(list);
    return link;
}

#endif /* TP_LIST_H */
