/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue between progress and trigger. */
#include "base/completion.h"

#include "base/time.h"

void
base_completion_queue_init(struct base_completion_queue *queue, bool single)
{
    atomic_init(&queue->count, 0);
    STAILQ_INIT(&queue->entries);
    base_lock_init(&queue->lock, single);
    base_signal_init(&queue->filled);
}

/* Lock held. */
static inline void
count_add(struct base_completion_queue *queue, uint32_t change)
{
    uint32_t count = atomic_load_explicit(&queue->count, memory_order_relaxed);

    /* Release pairs with the acquire in base_completion_count. */
    atomic_store_explicit(&queue->count, count + change, memory_order_release);
}

void
base_completion_push(
    struct base_completion_queue *queue, struct base_completion *completion)
{
    base_lock_acquire(&queue->lock);
    STAILQ_INSERT_TAIL(&queue->entries, completion, next);
    count_add(queue, 1);
    if (__builtin_expect(queue->filled.waiters > 0, 0))
        base_signal_all(&queue->filled);
    base_lock_release(&queue->lock);
}

static inline struct base_completion *
pop(struct base_completion_queue *queue)
{
    struct base_completion *first;

    if (base_completion_count(queue) == 0)
        return NULL;
    base_lock_acquire(&queue->lock);
    first = STAILQ_FIRST(&queue->entries);
    if (first) {
        STAILQ_REMOVE_HEAD(&queue->entries, next);
        count_add(queue, UINT32_MAX);
    }
    base_lock_release(&queue->lock);
    return first;
}

struct base_completion *
base_completion_take(struct base_completion_queue *queue,
    bool (*own)(const struct base_completion *completion))
{
    struct base_completion *completion;

    base_lock_acquire(&queue->lock);
    STAILQ_FOREACH (completion, &queue->entries, next)
        if (own(completion))
            break;
    if (completion) {
        STAILQ_REMOVE(&queue->entries, completion, base_completion, next);
        count_add(queue, UINT32_MAX);
    }
    base_lock_release(&queue->lock);
    return completion;
}

__attribute__((noinline)) bool
base_completion_wait(struct base_completion_queue *queue, uint64_t deadline)
{
    bool in_time = true, filled;

    if (base_completion_count(queue) > 0)
        return true;
    if (queue->lock.single)
        return false; /* nobody else is there to fill it */
    base_lock_acquire(&queue->lock);
    while (STAILQ_EMPTY(&queue->entries) && in_time)
        in_time = base_signal_wait(&queue->filled, &queue->lock, deadline);
    filled = !STAILQ_EMPTY(&queue->entries);
    base_lock_release(&queue->lock);
    return filled;
}

/* The ways of base_completion_trigger that are not the common one: to wait for
 * the first entry, to run more than one. */
static __attribute__((noinline)) uint32_t
trigger_slowly(
    struct base_completion_queue *queue, uint64_t deadline, uint32_t max_count)
{
    uint32_t count = 0;

    while (count < max_count) {
        struct base_completion *completion = pop(queue);

        if (completion) {
            completion->run(completion);
            count++;
            /* What came may be another thread's: then the wait goes on. */
        } else if (count > 0 || deadline == 0 ||
                   !base_completion_wait(queue, deadline)) {
            break;
        }
    }
    return count;
}

uint32_t
base_completion_trigger(
    struct base_completion_queue *queue, uint64_t deadline, uint32_t max_count)
{
    struct base_completion *completion = max_count > 0 ? pop(queue) : NULL;

    if (!completion)
        return deadline > 0 && max_count > 0
                   ? trigger_slowly(queue, deadline, max_count)
                   : 0;
    completion->run(completion);
    if (__builtin_expect(max_count == 1, 1))
        return 1;
    return 1 + trigger_slowly(queue, 0, max_count - 1);
}
