/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue between progress and trigger: completed operations whose callbacks
 * are to be run. An entry is embedded in the object that it completes.
 */
#ifndef BASE_COMPLETION_H
#define BASE_COMPLETION_H

#include "base/lock.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct base_completion {
    struct base_completion *next; /* undefined in the last entry */
    /* Runs the user's callback; may free the object of the entry. */
    void (*run)(struct base_completion *completion);
};

/* Instead of a count of 0: a thread waits for an entry, or has waited in vain. */
#define BASE_COMPLETION_WAITED 0x80000000U

struct base_completion_queue {
    /* of entries, or WAITED; written under the lock, read without */
    union {
        _Atomic uint32_t count;
        uint32_t single_count; /* the same, if the lock is single */
    };
    /* Undefined if there is no entry. */
    struct base_completion *first;
    struct base_completion *last;
    struct base_lock lock;
    struct base_signal filled;
};

void base_completion_queue_init(
    struct base_completion_queue *queue, bool single);

/* Adds an entry at the end. The entry comes first in the arguments since it comes
 * first in the functions that end by this call. [any thread] */
void base_completion_push(
    struct base_completion *completion, struct base_completion_queue *queue);

/* Waits for an entry. Returns false if the deadline passes first. */
bool base_completion_wait(
    struct base_completion_queue *queue, uint64_t deadline);

/* Runs up to max_count entries, and waits for the first one until the deadline.
 * Returns how many it ran. [any thread] */
uint32_t base_completion_trigger(
    struct base_completion_queue *queue, uint64_t deadline, uint32_t max_count);

/* Removes and returns the first entry for which `own` returns true, or NULL.
 * `own` is called under the lock. [any thread] */
struct base_completion *base_completion_take(
    struct base_completion_queue *queue,
    bool (*own)(const struct base_completion *completion));

static inline uint32_t
base_completion_count(const struct base_completion_queue *queue)
{
    /* Acquire pairs with the release in base_completion_count_set: a thread
     * that sees the count also sees what happened before the push. */
    return atomic_load_explicit(&queue->count, memory_order_acquire) &
           ~BASE_COMPLETION_WAITED;
}

/* Returns the number of entries, or WAITED. */
static inline uint32_t
base_completion_word(const struct base_completion_queue *queue)
{
    return atomic_load_explicit(&queue->count, memory_order_relaxed);
}

/* Called under the lock. */
static inline uint32_t
base_completion_count_locked(const struct base_completion_queue *queue)
{
    return base_completion_word(queue) & ~BASE_COMPLETION_WAITED;
}

/* Called under the lock. */
static inline void
base_completion_count_set(struct base_completion_queue *queue, uint32_t count)
{
    /* Release pairs with the acquire in base_completion_count. */
    atomic_store_explicit(&queue->count, count, memory_order_release);
}

/* Removes and returns the first entry of a queue that has `count`, at least one.
 * Called under the lock. */
static inline struct base_completion *
base_completion_remove_of(struct base_completion_queue *queue, uint32_t count)
{
    struct base_completion *first = queue->first;

    queue->first = first->next;
    base_completion_count_set(queue, count - 1);
    return first;
}

/* The same if the lock is single. */
static inline struct base_completion *
base_completion_remove_single(struct base_completion_queue *queue)
{
    struct base_completion *first = queue->first;

    queue->first = first->next;
    queue->single_count--;
    return first;
}

/* Removes and returns the first entry, or NULL. Called under the lock. */
static inline struct base_completion *
base_completion_remove(struct base_completion_queue *queue)
{
    return __builtin_expect(base_completion_count_locked(queue) == 0, 0)
               ? NULL
               : base_completion_remove_of(
                     queue, base_completion_count_locked(queue));
}

#endif /* BASE_COMPLETION_H */
