/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands and their ends pass by two words that processes sleep on. */
#include "perf/board.h"

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

struct perf_board *
perf_board_create(const struct perf_plan *plan)
{
    size_t lanes = (size_t) plan->clients * perf_plan_lanes(plan);
    size_t bytes =
        sizeof(struct perf_board) + lanes * sizeof(struct perf_report);
    struct perf_board *board = mmap(
        NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (board == MAP_FAILED)
        return NULL;
    board->bytes = bytes;
    board->plan = *plan;
    return board;
}

void
perf_board_destroy(struct perf_board *board)
{
    if (board)
        munmap(board, board->bytes);
}

void
perf_board_tell(struct perf_board *board, enum perf_command command)
{
    uint32_t order = atomic_load_explicit(&board->order, memory_order_relaxed);

    order = ((order >> COMMAND_BITS) + 1) << COMMAND_BITS | (uint32_t) command;
    atomic_store_explicit(&board->finished, 0, memory_order_relaxed);
    /* With the acquire in perf_board_next. */
    atomic_store_explicit(&board->order, order, memory_order_release);
    wake(&board->order);
}

bool
perf_board_wait(struct perf_board *board, uint32_t count)
{
    const struct timespec timeout = {0, 100 * (long) PERF_MS_NS};
    uint64_t deadline = perf_clock_now() + 100 * PERF_MS_NS;
    uint32_t finished;

    for (;;) {
        /* With the release in perf_board_done. */
        finished = atomic_load_explicit(&board->finished, memory_order_acquire);
        if (finished == count)
            return true;
        if (perf_clock_now() >= deadline)
            return false;
        sleep_on(&board->finished, finished, &timeout);
    }
}

enum perf_command
perf_board_next(struct perf_board *board, uint32_t *last)
{
    uint32_t order;

    for (;;) {
        /* With the release in perf_board_tell. */
        order = atomic_load_explicit(&board->order, memory_order_acquire);
        if (order != *last)
            break;
        sleep_on(&board->order, order, NULL);
    }
    *last = order;
    /* With the release in perf_board_done: of what others of this process did,
     * too. */
    (void) atomic_load_explicit(&board->finished, memory_order_acquire);
    return (enum perf_command)(order & ((1U << COMMAND_BITS) - 1));
}

void
perf_board_done(struct perf_board *board)
{
    /* With the acquire in perf_board_wait. */
    atomic_fetch_add_explicit(&board->finished, 1, memory_order_release);
    wake(&board->finished);
}
