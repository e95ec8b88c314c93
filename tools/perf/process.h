/* SPDX-License-Identifier: BSD-3-Clause */
/* Child processes that end with their parent, signals, processors. */
#ifndef PERF_PROCESS_H
#define PERF_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "perf/failure.h"

/* From now on SIGINT and SIGTERM are noted instead of ending the process. */
void perf_process_catch(void);

/* Whether one has come. */
bool perf_process_interrupted(void);

/* Forks a child that is killed when this process ends, and which the terminal's
 * SIGINT does not reach. Returns as fork does. */
pid_t perf_process_fork(void);

/* Runs all of this process on a processor, -1: leaves it. false: the failure is
 * set. */
bool perf_process_pin(int32_t cpu, struct perf_failure *failure);

/* Waits up to so many ms for a child to end. *status_p: as of waitpid. */
bool perf_process_wait(pid_t pid, unsigned int timeout_ms, int *status_p);

/* Ends a child: asks it by SIGTERM if ask, kills it if it does not obey. */
void perf_process_end(pid_t pid, bool ask, unsigned int timeout_ms);

#endif /* PERF_PROCESS_H */
