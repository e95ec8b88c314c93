/* SPDX-License-Identifier: BSD-3-Clause */
#include "drain.h"

#include <sched.h>
#include <time.h>

#include "engine.h"

#define POLLS 100 /* without a pause */

/* MPI has nothing to sleep on. Others may need the processor to come here. */
static void
pause_after(uint32_t polls)
{
    const struct timespec nap = {.tv_nsec = TP_MS};

    if (polls < POLLS)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

/* One step. *waiting_p: messages sent less those received, and those sent that
 * MPI still has. False: MPI fails. */
static bool
discard(struct nampi_engine *engine, int64_t *waiting_p)
{
    tp_lock_take(&nampi_lock);
    engine->stopped = true;
    bool works = nampi_engine_step(engine);
    *waiting_p = engine->begun - engine->taken + engine->count;
    tp_lock_drop(&nampi_lock);
    return works;
}

/* The sum of all processes' numbers, while messages are received. False: MPI
 * fails. */
static bool
add_up(struct nampi_engine *engine, const int64_t mine[2], int64_t all[2])
{
    MPI_Request request;
    int64_t waiting;
    int done = 0;

    if (MPI_Iallreduce(mine, all, 2, MPI_INT64_T, MPI_SUM, engine->comm,
            &request) != MPI_SUCCESS)
        return false;
    for (uint32_t polls = 0;; polls++) {
        discard(engine, &waiting);
        if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        if (done)
            return true;
        pause_after(polls);
    }
}

/* Each process has sent all that it will when it adds its numbers for the first
 * time. A sum of zero: nothing is on its way. It is negative where a program has
 * sent messages of its own with the plugin's tag. */
void
nampi_drain_all(struct nampi_engine *engine)
{
    int64_t mine[2], all[2];

    do
        mine[1] = !discard(engine, &mine[0]);
    while (add_up(engine, mine, all) && all[0] > 0 && all[1] == 0);
}

void
nampi_drain_arrived(struct nampi_engine *engine)
{
    uint64_t begun_ns = tp_now();
    bool idle = false;

    for (uint32_t polls = 0; !idle && tp_now() - begun_ns < TP_SECOND;
         polls++) {
        tp_lock_take(&nampi_lock);
        int64_t before = engine->taken;
        engine->stopped = true;
        idle = !nampi_engine_step(engine) ||
               (engine->arriving == 0 && engine->taken == before);
        engine->stopped = false;
        tp_lock_drop(&nampi_lock);
        if (!idle)
            pause_after(polls);
    }
}
