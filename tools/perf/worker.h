/* SPDX-License-Identifier: BSD-3-Clause */
/* A client: a process that opens the classes of the measuring side and runs
 * their loops, as the shared state tells. */
#ifndef PERF_WORKER_H
#define PERF_WORKER_H

#include "perf/shared.h"

/* The process's whole work, in a child of the leading process; returns what it
 * exits with. client: which one; cpu: to run on, -1: any. */
int perf_worker_run(struct perf_shared *shared, uint32_t client, int32_t cpu);

#endif /* PERF_WORKER_H */
