/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeping messages until their receives are posted. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/match.h"

/* Of early expected messages; the oldest give way. */
#define EARLY_MESSAGES 256U
#define EARLY_BYTES (256U << 10)

int32_t
tp_match_init(struct tp_match *match)
{
    if (tp_table_init(&match->posted) != NA_PLUGIN_OK)
        return NA_PLUGIN_E_NOMEM;
    if (tp_table_init(&match->early) == NA_PLUGIN_OK)
        return NA_PLUGIN_OK;
    tp_table_fini(&match->posted);
    return NA_PLUGIN_E_NOMEM;
}

static void
describe(struct tp_kept *kept, const struct tp_message *message)
{
    kept->keyed.owner = message->owner;
    kept->keyed.key = message->key;
    kept->from = message->from;
    kept->tag = message->tag;
}

/* Copies a message; NULL: no memory. */
static struct tp_kept *
copy(const struct tp_message *message)
{
    struct tp_kept *kept = malloc(sizeof(*kept) + message->length);

    if (kept == NULL)
        return NULL;
    describe(kept, message);
    kept->length = message->length;
    kept->place = message->place;
    kept->data = kept + 1;
    if (message->length != 0)
        memcpy(kept + 1, message->data, message->length);
    return kept;
}

enum tp_outcome
tp_match_queue(struct tp_match *match, const struct tp_message *message)
{
    if (message->place == 0 && !tp_match_has_room(match, message->length))
        return TP_FULL;
    struct tp_kept *kept = copy(message);
    if (kept == NULL)
        return TP_NO_MEMORY;
    if (kept->place == 0)
        match->quota->used += tp_match_cost(kept->length);
    tp_list_append(&match->queue, &kept->keyed.link);
    return TP_KEPT;
}

void
tp_match_append(struct tp_match *match, struct tp_kept *kept,
    const struct tp_message *message)
{
    describe(kept, message);
    tp_list_append(&match->queue, &kept->keyed.link);
}

static void
remove_early(struct tp_match *match, struct tp_kept *kept)
{
    tp_table_remove(&match->early, &kept->keyed);
    tp_list_remove(&match->by_age, &kept->by_age);
    match->early_bytes -= kept->length;
}

static void
drop_early(struct tp_match *match, struct tp_kept *kept)
{
    remove_early(match, kept);
    match->forget(match->arg, kept, true);
}

static struct tp_kept *
oldest(const struct tp_match *match)
{
    return TP_OBJECT(match->by_age.head, struct tp_kept, by_age);
}

enum tp_outcome
tp_match_keep_early(struct tp_match *match, const struct tp_message *message)
{
    while (match->by_age.head != NULL &&
           (match->early.count >= EARLY_MESSAGES ||
               match->early_bytes + message->length > EARLY_BYTES))
        drop_early(match, oldest(match));
    struct tp_kept *kept = copy(message);
    if (kept == NULL)
        return TP_NO_MEMORY;
    tp_table_insert(&match->early, &kept->keyed);
    tp_list_append(&match->by_age, &kept->by_age);
    match->early_bytes += kept->length;
    return TP_KEPT;
}

struct tp_kept *
tp_match_take_early(struct tp_match *match, const struct tp_recv *recv)
{
    struct tp_keyed *keyed =
        tp_table_find(&match->early, recv->keyed.owner, recv->keyed.key);

    if (keyed == NULL)
        return NULL;
    struct tp_kept *kept = TP_OBJECT(keyed, struct tp_kept, keyed);
    remove_early(match, kept);
    return kept;
}

void
tp_match_take_all(
    struct tp_match *match, const void *owner, struct tp_list *list)
{
    struct tp_keyed *first = match->first;

    if (first != NULL && (owner == NULL || first->owner == owner)) {
        match->first = NULL;
        tp_list_append(list, &first->link);
    }
    tp_table_take_all(&match->posted, owner, list);
}

void
tp_match_drop_owner(struct tp_match *match, const void *owner)
{
    struct tp_link *next;

    for (struct tp_link *link = match->by_age.head; link != NULL; link = next) {
        struct tp_kept *kept = TP_OBJECT(link, struct tp_kept, by_age);
        next = link->next;
        if (kept->keyed.owner == owner)
            drop_early(match, kept);
    }
}

void
tp_match_fini(struct tp_match *match)
{
    struct tp_link *link;

    while ((link = tp_list_pop(&match->queue)) != NULL) {
        struct tp_kept *kept = TP_OBJECT(link, struct tp_kept, keyed.link);
        if (kept->place == 0)
            match->quota->used -= tp_match_cost(kept->length);
        match->forget(match->arg, kept, false);
    }
    while (match->by_age.head != NULL) {
        struct tp_kept *kept = oldest(match);
        remove_early(match, kept);
        match->forget(match->arg, kept, false);
    }
    tp_table_fini(&match->early);
    tp_table_fini(&match->posted);
    match->first = NULL;
    match->recvs = (struct tp_list){NULL, NULL};
}

int32_t
tp_match_refuse(const na_plugin_host *host, uint64_t length, uint64_t longest,
    uint32_t context, uint32_t contexts, uint64_t tag)
{
    if (length > longest) {
        TP_LOG(host, ERROR,
            "message of %" PRIu64 " bytes; the longest is %" PRIu64, length,
            longest);
        return NA_PLUGIN_E_MSGSIZE;
    }
    TP_LOG(host, ERROR,
        "message with tag %" PRIu64 " of context %" PRIu32
        "; the highest are %" PRIu32 " and %" PRIu32,
        tag, context, UINT32_MAX, contexts - 1);
    return NA_PLUGIN_E_INVALID_ARG;
}
