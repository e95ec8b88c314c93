/* SPDX-License-Identifier: BSD-3-Clause */
#include "drain.h"

#include <sched.h>
#include <time.h>

#include "engine.h"

#define POLLS 100 /* before the first sleep */

/* Yields the processor, which other processes may need to get here, and sleeps
 * for 1 ms after many polls: MPI has no descriptor to wait on. */
static void
pause_after(uint32_t polls)
{
    const struct timespec nap = {.tv_nsec = TP_MS};

    if (polls < POLLS)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

/* Stops the engine, completes sends and drops messages. *balance_p: what this
 * process adds to the number of unreceived messages: sent minus received, plus
 * incomplete sends. Returns false if MPI fails. Takes nampi_lock. */
static bool
drop_messages(struct nampi_engine *engine, int64_t *balance_p)
{
    tp_mutex_take(&nampi_lock);
    engine->stopped = true;
    bool works = nampi_engine_step(engine);
    *balance_p = engine->sent - engine->received + engine->count;
    tp_mutex_drop(&nampi_lock);
    return works;
}

/* Sums up mine over all processes, and drops messages until the sum is there.
 * Returns false if MPI fails. Takes nampi_lock. */
static bool
sum_all(struct nampi_engine *engine, const int64_t mine[2], int64_t all[2])
{
    MPI_Request request;
    int64_t balance;
    int done = 0;

    if (MPI_Iallreduce(mine, all, 2, MPI_INT64_T, MPI_SUM, engine->comm,
            &request) != MPI_SUCCESS)
        return false;
    for (uint32_t polls = 0;; polls++) {
        drop_messages(engine, &balance);
        if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        if (done)
            return true;
        pause_after(polls);
    }
}

/* No process sends after its first sum, since its engine is stopped. A sum of
 * zero means that all messages are received. It is negative if the program has
 * sent messages of its own with the plugin's tag. The second number counts
 * processes whose MPI fails. */
void
nampi_drain_all(struct nampi_engine *engine)
{
    int64_t mine[2], all[2];

    do
        mine[1] = !drop_messages(engine, &mine[0]);
    while (sum_all(engine, mine, all) && all[0] > 0 && all[1] == 0);
}

void
nampi_drain_arrived(struct nampi_engine *engine)
{
    uint64_t begun_ns = tp_now();
    bool idle = false;

    for (uint32_t polls = 0; !idle && tp_now() - begun_ns < TP_SECOND;
         polls++) {
        tp_mutex_take(&nampi_lock);
        int64_t before = engine->received;
        engine->stopped = true;
        idle = !nampi_engine_step(engine) ||
               (engine->arriving == 0 && engine->received == before);
        engine->stopped = false;
        tp_mutex_drop(&nampi_lock);
        if (!idle)
            pause_after(polls);
    }
}
