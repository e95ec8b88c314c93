/* SPDX-License-Identifier: BSD-3-Clause */
/* A client: a process that opens the classes of the measuring side and runs
 * their loops, controlled by the shared memory. */
#ifndef PERF_WORKER_H
#define PERF_WORKER_H

#include "perf/shared.h"

/* Runs a client in a child of the leading process. Returns the exit status.
 * client: its index. cpu: -1: any. */
int perf_worker_run(struct perf_shared *shared, uint32_t client, int32_t cpu);

#endif /* PERF_WORKER_H */
