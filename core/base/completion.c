/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue between progress and trigger. */
#include "base/completion.h"

#include "base/time.h"

void
base_completion_queue_init(struct base_completion_queue *queue, bool single)
{
    pthread_condattr_t attr;

    atomic_init(&queue->count, 0);
    queue->waiters = 0;
    STAILQ_INIT(&queue->entries);
    base_lock_init(&queue->lock, single);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&queue->filled, &attr);
    pthread_condattr_destroy(&attr);
}

void
base_completion_queue_finish(struct base_completion_queue *queue)
{
    pthread_cond_destroy(&queue->filled);
    base_lock_finish(&queue->lock);
}

static void
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
    if (queue->waiters > 0)
        pthread_cond_signal(&queue->filled);
    base_lock_release(&queue->lock);
}

struct base_completion *
base_completion_pop(struct base_completion_queue *queue)
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

bool
base_completion_wait(struct base_completion_queue *queue, uint64_t deadline)
{
    struct timespec until = base_time_spec(deadline);
    int err = 0;

    if (base_completion_count(queue) > 0)
        return true;
    if (queue->lock.single)
        return false; /* nobody else is there to fill it */
    base_lock_acquire(&queue->lock);
    queue->waiters++;
    while (STAILQ_EMPTY(&queue->entries) && err == 0)
        err =
            pthread_cond_timedwait(&queue->filled, &queue->lock.mutex, &until);
    queue->waiters--;
    base_lock_release(&queue->lock);
    return base_completion_count(queue) > 0;
}

uint32_t
base_completion_trigger(
    struct base_completion_queue *queue, uint64_t deadline, uint32_t max_count)
{
    uint32_t count = 0;

    while (count < max_count) {
        struct base_completion *completion = base_completion_pop(queue);

        if (completion) {
            completion->run(completion);
            count++;
        } else if (count > 0 || deadline == 0 ||
                   !base_completion_wait(queue, deadline)) {
            break;
        }
    }
    return count;
}
