/* SPDX-License-Identifier: BSD-3-Clause */
/* Child processes that end with their parent, signals, processors. */
#ifndef PERF_PROCESS_H
#define PERF_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "perf/failure.h"

/* Makes SIGINT and SIGTERM set a flag instead of ending the process. */
void perf_process_catch(void);

/* Whether a signal was received. */
bool perf_process_interrupted(void);

/* Returns the absolute path of a program: `name` itself if it has a slash, else
 * the first match in $PATH. To be freed. NULL: not found. */
char *perf_process_find(const char *name);

/* Forks a child that is killed when this process ends and ignores SIGINT of the
 * terminal. Returns as fork does. */
pid_t perf_process_fork(void);

/* Binds a thread (0: the calling one) to a processor. false: errno is set. */
bool perf_process_set_cpu(pid_t pid, int32_t cpu);

/* Binds the calling thread and the threads that it will start to a processor.
 * -1: no binding. false: the failure is set. */
bool perf_process_pin(int32_t cpu, struct perf_failure *failure);

/* Waits up to timeout_ms for a child to end. *status_p: as of waitpid. false:
 * it has not ended. */
bool perf_process_wait(pid_t pid, unsigned int timeout_ms, int *status_p);

/* Ends a child: by SIGTERM first if `ask`, by SIGKILL after timeout_ms. */
void perf_process_end(pid_t pid, bool ask, unsigned int timeout_ms);

#endif /* PERF_PROCESS_H */
