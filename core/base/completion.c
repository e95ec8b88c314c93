/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue between progress and trigger. */
#include "base/completion.h"

#include "base/time.h"

void
base_completion_queue_init(struct base_completion_queue *queue, bool single)
{
    atomic_init(&queue->count, 0);
    base_lock_init(&queue->lock, single);
    base_signal_init(&queue->filled);
}

/* Adds an entry, unless the count is WAITED: false. Called under the lock. */
static inline bool
append(struct base_completion_queue *queue, struct base_completion *completion)
{
    uint32_t count = base_completion_word(queue);

    if (__builtin_expect(count == 0, 1)) {
        queue->first = completion;
        /* Between them: gcc would collect the stores in a vector first. */
        base_completion_count_set(queue, 1);
        queue->last = completion;
        return true;
    }
    if (__builtin_expect(count == BASE_COMPLETION_WAITED, 0))
        return false;
    queue->last->next = completion;
    queue->last = completion;
    base_completion_count_set(queue, count + 1);
    return true;
}

/* Adds an entry, and wakes all threads that wait for one. Called under the lock, which
 * it releases. */
static __attribute__((noinline, cold)) void
push_waited(
    struct base_completion *completion, struct base_completion_queue *queue)
{
    if (!append(queue, completion)) {
        base_completion_count_set(queue, 0);
        append(queue, completion);
        base_signal_all(&queue->filled);
    }
    base_lock_release(&queue->lock);
}

/* Another thread has the lock. */
static __attribute__((noinline, cold)) void
push_slowly(
    struct base_completion *completion, struct base_completion_queue *queue)
{
    base_lock_acquire(&queue->lock);
    push_waited(completion, queue);
}

/* Calls no function on the common path, so that it saves no registers. */
void
base_completion_push(
    struct base_completion *completion, struct base_completion_queue *queue)
{
    if (queue->lock.single) {
        append(queue, completion);
        return;
    }
    if (__builtin_expect(!base_lock_try_used(&queue->lock), 0)) {
        push_slowly(completion, queue);
        return;
    }
    if (__builtin_expect(!append(queue, completion), 0)) {
        push_waited(completion, queue);
        return;
    }
    if (__builtin_expect(!base_lock_leave_used(&queue->lock), 0))
        base_lock_wake(&queue->lock);
}

static struct base_completion *
pop(struct base_completion_queue *queue)
{
    struct base_completion *first;

    if (base_completion_count(queue) == 0)
        return NULL;
    base_lock_acquire(&queue->lock);
    first = base_completion_remove(queue);
    base_lock_release(&queue->lock);
    return first;
}

__attribute__((cold)) struct base_completion *
base_completion_take(struct base_completion_queue *queue,
    bool (*own)(const struct base_completion *completion))
{
    struct base_completion **link = &queue->first;
    struct base_completion *before = NULL, *taken = NULL;
    uint32_t count;

    base_lock_acquire(&queue->lock);
    count = base_completion_count_locked(queue);
    for (uint32_t left = count; left > 0; left--) {
        struct base_completion *entry = *link;

        if (own(entry)) {
            taken = entry;
            *link = entry->next;
            if (left == 1)
                queue->last = before;
            base_completion_count_set(queue, count - 1);
            break;
        }
        before = entry;
        link = &entry->next;
    }
    base_lock_release(&queue->lock);
    return taken;
}

__attribute__((cold)) bool
base_completion_wait(struct base_completion_queue *queue, uint64_t deadline)
{
    bool in_time = true, filled;

    if (base_completion_count(queue) > 0)
        return true;
    if (queue->lock.single)
        return false; /* no other thread can add entries */
    base_lock_acquire(&queue->lock);
    while (base_completion_count_locked(queue) == 0 && in_time) {
        base_completion_count_set(queue, BASE_COMPLETION_WAITED);
        in_time = base_signal_wait(&queue->filled, &queue->lock, deadline);
    }
    filled = base_completion_count_locked(queue) > 0;
    base_lock_release(&queue->lock);
    return filled;
}

uint32_t
base_completion_trigger(
    struct base_completion_queue *queue, uint64_t deadline, uint32_t max_count)
{
    uint32_t count = 0;

    while (count < max_count) {
        struct base_completion *completion = pop(queue);

        if (completion) {
            completion->run(completion);
            count++;
            /* Another thread may have taken the entry: wait again. */
        } else if (count > 0 || deadline == 0 ||
                   !base_completion_wait(queue, deadline)) {
            break;
        }
    }
    return count;
}
