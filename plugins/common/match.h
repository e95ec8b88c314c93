/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching: messages and receives of one context. Unexpected messages take the
 * oldest receive or wait in a queue, as far as a quota goes; expected ones are
 * matched by owner and key, and a few are kept that arrive early. The engine
 * finds and keeps; filling a receive and reporting it is the plugin's, since
 * there every instruction counts. The caller locks.
 */
#ifndef TP_MATCH_H
#define TP_MATCH_H

#include <string.h>

#include "common/table.h"
#include "na_plugin.h"

/* A posted receive, or a held send to oneself: lies in the plugin's operation. */
struct tp_recv {
    struct tp_keyed keyed; /* owner, key: of an expected receive */
    void *buffer;
    uint64_t length;
};

/* A message that has arrived. */
struct tp_message {
    const void *owner;    /* what expected ones are matched by, */
    uint64_t key;         /* tp_match_key */
    na_plugin_addr *from; /* how the sender is reported */
    const void *data;
    uint32_t length;
    uint32_t tag;
    uint64_t place; /* the plugin's; 0: it counts against the quota */
};

/* One that waits for its receive; a copy, unless the plugin made it. */
struct tp_kept {
    struct tp_keyed keyed; /* link: in the queue, or in the table */
    struct tp_link by_age; /* early ones */
    na_plugin_addr *from;
    const void *data;
    uint64_t place;
    uint32_t length;
    uint32_t tag;
};

/* Bytes that queued messages may take, of one context or of several. */
struct tp_quota {
    uint64_t used;
    uint64_t limit;
};

struct tp_match {
    struct tp_list recvs;   /* posted for unexpected messages */
    struct tp_keyed *first; /* posted for an expected message while there was no
                               other one, and so the oldest, or NULL */
    struct tp_table posted; /* the other ones */
    struct tp_list queue;   /* unexpected messages without a receive */
    struct tp_table early;  /* expected ones */
    struct tp_list by_age;  /* the same, oldest first */
    struct tp_list held;    /* sends to oneself that queue has no room for */
    uint64_t early_bytes;
    struct tp_quota *quota;
    /* Frees a kept message, and drops its reference of from; dropped: nobody has
     * received it, nor will. */
    void (*forget)(void *arg, struct tp_kept *kept, bool dropped);
    void *arg;
};

enum tp_outcome {
    TP_MATCHED, /* *recv_p is its receive, not posted any more; else NULL */
    TP_KEPT,    /* copied; from has one more user, see tp_match_deliver */
    TP_FULL,    /* the quota is used up */
    TP_NO_MEMORY,
};

/* quota, forget and arg filled in, the rest zeroed: makes the tables. NOMEM. */
int32_t tp_match_init(struct tp_match *match);

/* Forgets what is kept, frees the tables, and forgets receives, which the core
 * ends. Held sends are the caller's to end before. */
void tp_match_fini(struct tp_match *match);

/* Slow paths of the functions below. */
enum tp_outcome tp_match_queue(
    struct tp_match *match, const struct tp_message *message);
enum tp_outcome tp_match_keep_early(
    struct tp_match *match, const struct tp_message *message);

/* Appends a message to the queue that lies in memory of the plugin's, of which
 * data, length and place are filled in, whatever the quota. */
void tp_match_append(struct tp_match *match, struct tp_kept *kept,
    const struct tp_message *message);

/* Moves the expected receives of an owner, of any if that is NULL, to the end of
 * a list. */
void tp_match_take_all(
    struct tp_match *match, const void *owner, struct tp_list *list);

/* Drops what is kept of an owner's expected messages. */
void tp_match_drop_owner(struct tp_match *match, const void *owner);

/* Why a message or receive is not submitted: MSGSIZE if it is longer than the
 * longest, else INVALID_ARG, as context, of so many, or tag is none; logged. */
int32_t tp_match_refuse(const na_plugin_host *host, uint64_t length,
    uint64_t longest, uint32_t context, uint32_t contexts, uint64_t tag);

/* What an expected message is matched by besides its owner: the sender's context
 * and the tag. */
static inline uint64_t
tp_match_key(uint32_t context, uint32_t tag)
{
    return (uint64_t) context << 32 | tag;
}

static inline struct tp_recv *
tp_recv_of(struct tp_link *link)
{
    return TP_OBJECT(link, struct tp_recv, keyed.link);
}

/* Bytes of the quota that a message takes in the queue. */
static inline uint64_t
tp_match_cost(uint64_t length)
{
    return length + sizeof(struct tp_kept);
}

/* Whether an unexpected message would find a receive, or room in the queue; one
 * always does, however long. */
static inline bool
tp_match_has_room(const struct tp_match *match, uint64_t length)
{
    return match->recvs.head != NULL || match->quota->used == 0 ||
           match->quota->used + tp_match_cost(length) <= match->quota->limit;
}

/* Whether no expected receive is posted. */
static inline bool
tp_match_none_posted(const struct tp_match *match)
{
    return match->first == NULL && match->posted.count == 0;
}

/* Posts an expected receive whose owner and key are filled in. */
static inline void
tp_match_add_posted(struct tp_match *match, struct tp_keyed *keyed)
{
    if (tp_match_none_posted(match))
        match->first = keyed;
    else
        tp_table_insert(&match->posted, keyed);
}

/* Whether the first expected receive is the one of these. */
static inline bool
tp_match_is_first(const struct tp_match *match, const void *owner, uint64_t key)
{
    return match->first != NULL && match->first->key == key &&
           match->first->owner == owner;
}

/* The expected receive of these, not posted any more; NULL: none. */
static inline struct tp_link *
tp_match_take_posted(struct tp_match *match, const void *owner, uint64_t key)
{
    struct tp_keyed *keyed = match->first;

    if (tp_match_is_first(match, owner, key))
        match->first = NULL;
    else
        keyed = tp_table_take(&match->posted, owner, key);
    return keyed != NULL ? &keyed->link : NULL;
}

/* Brings a message to its receive, or keeps a copy. Of a kept one the caller
 * takes a reference of from, which forget drops. */
static inline enum tp_outcome
tp_match_deliver(struct tp_match *match, const struct tp_message *message,
    bool unexpected, struct tp_recv **recv_p)
{
    struct tp_link *link =
        unexpected ? tp_list_pop(&match->recvs)
                   : tp_match_take_posted(match, message->owner, message->key);

    if (__builtin_expect(link == NULL, 0)) {
        *recv_p = NULL;
        return unexpected ? tp_match_queue(match, message)
                          : tp_match_keep_early(match, message);
    }
    *recv_p = tp_recv_of(link);
    return TP_MATCHED;
}

/* The oldest queued message, the caller's to forget when it has been copied;
 * NULL: none. */
static inline struct tp_kept *
tp_match_take_queued(struct tp_match *match)
{
    struct tp_link *link = tp_list_pop(&match->queue);

    if (__builtin_expect(link == NULL, 1))
        return NULL;
    struct tp_kept *kept = TP_OBJECT(link, struct tp_kept, keyed.link);
    if (kept->place == 0)
        match->quota->used -= tp_match_cost(kept->length);
    return kept;
}

/* Posts a receive; not NULL: the message that is there for it already, to be
 * forgotten likewise. */
static inline struct tp_kept *
tp_match_post_unexpected(struct tp_match *match, struct tp_recv *recv)
{
    struct tp_kept *kept = tp_match_take_queued(match);

    if (kept == NULL)
        tp_list_append(&match->recvs, &recv->keyed.link);
    return kept;
}

/* The expected message that is there for a receive, to be forgotten likewise;
 * NULL: none. */
struct tp_kept *tp_match_take_early(
    struct tp_match *match, const struct tp_recv *recv);

static inline struct tp_kept *
tp_match_post_expected(struct tp_match *match, struct tp_recv *recv)
{
    struct tp_kept *kept =
        match->early.count != 0 ? tp_match_take_early(match, recv) : NULL;

    if (kept == NULL)
        tp_match_add_posted(match, &recv->keyed);
    return kept;
}

/* Takes a posted receive away. */
static inline void
tp_match_unpost(struct tp_match *match, struct tp_recv *recv, bool unexpected)
{
    if (unexpected)
        tp_list_remove(&match->recvs, &recv->keyed.link);
    else if (match->first == &recv->keyed)
        match->first = NULL;
    else
        tp_table_remove(&match->posted, &recv->keyed);
}

/* Fills a receive, and its final event, of which op and source are given. False:
 * the message is too long, and the event says so, without the source. */
static inline bool
tp_match_fill(const struct tp_recv *recv, const void *data, uint32_t length,
    uint32_t tag, void *op, na_plugin_addr *source, na_plugin_event *event)
{
    if (__builtin_expect(length > recv->length, 0)) {
        *event = (na_plugin_event){.op = op, .status = NA_PLUGIN_E_MSGSIZE};
        return false;
    }
    if (length != 0)
        memcpy(recv->buffer, data, length);
    *event = (na_plugin_event){.op = op,
        .buffer = recv->buffer,
        .length = length,
        .source = source,
        .tag = tag,
        .status = NA_PLUGIN_OK,
        .flags = NA_PLUGIN_EVENT_MESSAGE};
    return true;
}

/* SENDS TO ONESELF wait in held, in order, while the queue has no room. Expected
 * messages never wait: unexpected ones may wait for them. */

static inline bool
tp_match_must_hold(const struct tp_match *match, uint64_t length)
{
    return match->held.head != NULL || !tp_match_has_room(match, length);
}

/* The oldest held send, removed, if there is room for it now; else NULL. */
static inline struct tp_recv *
tp_match_next_held(struct tp_match *match)
{
    if (__builtin_expect(match->held.head == NULL, 1) ||
        !tp_match_has_room(match, tp_recv_of(match->held.head)->length))
        return NULL;
    return tp_recv_of(tp_list_pop(&match->held));
}

#endif /* TP_MATCH_H */
