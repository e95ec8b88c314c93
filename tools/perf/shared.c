/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands and their completion are two futex words. */
#include "perf/shared.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COMMAND_BITS 4U

static void
sleep_on(_Atomic uint32_t *word, uint32_t value, const struct timespec *timeout)
{
    syscall(SYS_futex, word, FUTEX_WAIT, value, timeout, NULL, 0);
}

static void
wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

struct perf_shared *
perf_shared_create(const struct perf_plan *plan)
{
    size_t loops = (size_t) plan->clients * perf_plan_loops(plan);
    size_t bytes =
        sizeof(struct perf_shared) + loops * sizeof(struct perf_report);
    struct perf_shared *shared = mmap(
        NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED)
        return NULL;
    shared->bytes = bytes;
    shared->plan = *plan;
    return shared;
}

void
perf_shared_destroy(struct perf_shared *shared)
{
    if (shared)
        munmap(shared, shared->bytes);
}

void
perf_shared_tell(struct perf_shared *shared, enum perf_command command)
{
    uint32_t order = atomic_load_explicit(&shared->order, memory_order_relaxed);

    order = ((order >> COMMAND_BITS) + 1) << COMMAND_BITS | (uint32_t) command;
    atomic_store_explicit(&shared->finished, 0, memory_order_relaxed);
    /* Pairs with the acquire in perf_shared_next. */
    atomic_store_explicit(&shared->order, order, memory_order_release);
    wake(&shared->order);
}

bool
perf_shared_wait(struct perf_shared *shared, uint32_t count)
{
    const struct timespec timeout = {0, 100 * (long) PERF_MS_NS};
    uint64_t deadline = perf_clock_now() + 100 * PERF_MS_NS;
    uint32_t finished;

    for (;;) {
        /* Pairs with the release in perf_shared_done. */
        finished =
            atomic_load_explicit(&shared->finished, memory_order_acquire);
        if (finished == count)
            return true;
        if (perf_clock_now() >= deadline)
            return false;
        sleep_on(&shared->finished, finished, &timeout);
    }
}

enum perf_command
perf_shared_next(struct perf_shared *shared, uint32_t *last)
{
    uint32_t order;

    for (;;) {
        /* Pairs with the release in perf_shared_tell. */
        order = atomic_load_explicit(&shared->order, memory_order_acquire);
        if (order != *last)
            break;
        sleep_on(&shared->order, order, NULL);
    }
    *last = order;
    /* Pairs with the release in perf_shared_done, for the writes of other
     * threads of this process. */
    (void) atomic_load_explicit(&shared->finished, memory_order_acquire);
    return (enum perf_command)(order & ((1U << COMMAND_BITS) - 1));
}

void
perf_shared_done(struct perf_shared *shared)
{
    /* Pairs with the acquire in perf_shared_wait. */
    atomic_fetch_add_explicit(&shared->finished, 1, memory_order_release);
    wake(&shared->finished);
}
