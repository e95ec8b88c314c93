/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the leading process shares with those that measure: what they are
 * told to do, and what they found.
 */
#ifndef PERF_SHARED_H
#define PERF_SHARED_H

#include <stdatomic.h>

#include "perf/loop.h"

enum perf_command {
    PERF_COMMAND_OPEN,    /* processes: open classes, start threads */
    PERF_COMMAND_PREPARE, /* processes: for a test and a size */
    PERF_COMMAND_ARM,     /* processes: for so many operations */
    PERF_COMMAND_RUN,     /* loops: one round */
    PERF_COMMAND_END      /* all */
};

struct perf_shared {
    size_t bytes; /* of all this */
    struct perf_plan plan;
    char info[PERF_ADDRESS_SIZE]; /* of the measuring side */
    struct perf_remote remotes[PERF_CLASSES_MAX];

    /* What the command is about. */
    enum perf_test test;
    uint64_t size;
    uint64_t operations;  /* of all loops; UINT64_MAX: as many as there is
                            time for */
    uint64_t duration_ns; /* UINT64_MAX: as long as the operations take */
    uint32_t every;       /* operation is a sample */

    _Atomic uint32_t order;    /* the command, and above it its number: in one
                                  word, so that nobody takes one for another */
    _Atomic uint32_t finished; /* processes or loops that have done it */
    struct perf_failure failure;
    struct perf_report reports[]; /* of the loops, client by client */
};

/* For the clients and loops of a plan, which it copies. NULL: out of memory. */
struct perf_shared *perf_shared_create(const struct perf_plan *plan);
void perf_shared_destroy(struct perf_shared *shared);

/* Leader: gives a command. */
void perf_shared_tell(struct perf_shared *shared, enum perf_command command);

/* Leader: waits until so many have done it, at most for 100 ms. Returns whether
 * they have. */
bool perf_shared_wait(struct perf_shared *shared, uint32_t count);

/* Others: waits for another command than the last one and returns it. */
enum perf_command perf_shared_next(struct perf_shared *shared, uint32_t *last);

/* Others: the command is done. */
void perf_shared_done(struct perf_shared *shared);

#endif /* PERF_SHARED_H */
