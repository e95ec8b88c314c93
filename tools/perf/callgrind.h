/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the instructions of one operation in a process under valgrind that
 * runs both sides in one thread. */
#ifndef PERF_CALLGRIND_H
#define PERF_CALLGRIND_H

#include "perf/plan.h"

/* Counts for a test at a size. false: the error was printed. Blocks for
 * seconds. */
bool perf_callgrind_count(const char *info, const struct perf_plan *plan,
    enum perf_test test, uint64_t size, double *instructions_p);

/* Whether valgrind is installed; prints an error otherwise. */
bool perf_callgrind_is_available(void);

/* The action that runs under valgrind. argv: its name, level, test, size,
 * operations in flight, count, flags, info string. Returns the exit status. */
#define PERF_CALLGRIND_ACTION "count-loop"
int perf_callgrind_loop(int argc, char **argv);

#endif /* PERF_CALLGRIND_H */
