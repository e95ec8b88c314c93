/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mutex that a class opened for a single thread leaves alone.
 *
 * Every lock of the core, outermost first; a thread takes them in this order
 * only, and none of them is held while user code runs:
 *
 *   1. na_progress.lock          na/progress.c   serializes poll, arm, cancel
 *   2. hg_context.pool_lock      hg/pool.c       free and posted handles
 *   3. hg_class.rpc_lock         hg/registry.c   adding and removing RPCs
 *   4. bulk_op table             bulk/op_table.c which transfer an id names
 *   5. bulk_context.lock         bulk/op.c       free transfers
 *   6. base_completion_queue     base/completion.c
 *   7. plugin registry           plugin/…        opened plugins, search paths
 *   8. the log's outlets         base/log.c
 *
 * A plugin's own locks lie between 1 and 8: no function of a plugin is called
 * with a lock below 1 held, but for the log.
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>

struct base_lock {
    pthread_mutex_t mutex;
    bool single; /* one thread only: nothing to lock */
};

static inline void
base_lock_init(struct base_lock *lock, bool single)
{
    pthread_mutex_init(&lock->mutex, NULL);
    lock->single = single;
}

static inline void
base_lock_finish(struct base_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

static inline void
base_lock_acquire(struct base_lock *lock)
{
    if (!lock->single)
        pthread_mutex_lock(&lock->mutex);
}

static inline void
base_lock_release(struct base_lock *lock)
{
    if (!lock->single)
        pthread_mutex_unlock(&lock->mutex);
}

#endif /* BASE_LOCK_H */
