/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions of one operation, counted by valgrind in a process of its own
 * that has both sides in one thread. */
#ifndef PERF_CALLGRIND_H
#define PERF_CALLGRIND_H

#include "perf/plan.h"

/* Counts for a test at a size. false: it said why on standard error. Blocks for
 * some seconds. */
bool perf_callgrind_count(const char *info, const struct perf_plan *plan,
    enum perf_test test, uint64_t size, double *instructions_p);

/* Whether there is a valgrind; otherwise it said so on standard error. */
bool perf_callgrind_is_available(void);

/* The action that runs under valgrind. argv: its name, level, test, size, in
 * flight, operations, flags, info string. Returns what a subcommand does. */
#define PERF_CALLGRIND_ACTION "count-loop"
int perf_callgrind_loop(int argc, char **argv);

#endif /* PERF_CALLGRIND_H */
