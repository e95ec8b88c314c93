/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the leading process shares with the clients: commands and
 * results. */
#ifndef PERF_SHARED_H
#define PERF_SHARED_H

#include <stdatomic.h>

#include "perf/loop.h"

enum perf_command {
    PERF_COMMAND_OPEN,    /* processes: open classes, start threads */
    PERF_COMMAND_PREPARE, /* processes: for a test and a size */
    PERF_COMMAND_ARM,     /* processes: set the number of operations */
    PERF_COMMAND_RUN,     /* loops: one round */
    PERF_COMMAND_END      /* all */
};

struct perf_shared {
    size_t bytes; /* of the whole structure */
    struct perf_plan plan;
    char info[PERF_ADDRESS_SIZE]; /* of the measuring side */
    struct perf_remote remotes[PERF_CLASSES_MAX];

    /* The parameters of the command. */
    enum perf_test test;
    uint64_t size;
    uint64_t operations;  /* of all loops; UINT64_MAX: as many as there is
                            time for */
    uint64_t duration_ns; /* UINT64_MAX: no limit */
    uint32_t every;       /* each nth operation is a sample */

    _Atomic uint32_t order;    /* the command, and above it its number: in one
                                  word, so both are read together */
    _Atomic uint32_t finished; /* processes or loops */
    struct perf_failure failure;
    struct perf_report reports[]; /* of the loops, client by client */
};

/* Creates the shared memory and copies the plan. NULL: out of memory. */
struct perf_shared *perf_shared_create(const struct perf_plan *plan);
void perf_shared_destroy(struct perf_shared *shared);

/* Leader: sends a command. */
void perf_shared_tell(struct perf_shared *shared, enum perf_command command);

/* Leader: waits up to 100 ms. Returns whether `count` have executed the
 * command. */
bool perf_shared_wait(struct perf_shared *shared, uint32_t count);

/* Others: waits for a new command and returns it. */
enum perf_command perf_shared_next(struct perf_shared *shared, uint32_t *last);

/* Others: reports that the command was executed. */
void perf_shared_done(struct perf_shared *shared);

#endif /* PERF_SHARED_H */
