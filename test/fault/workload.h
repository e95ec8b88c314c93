/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program does from its first library call to the last: two classes in
 * one thread, small and large calls, bulk transfers in both directions,
 * cancelled calls. One failure is injected: the step in which it happens may
 * return an error, and succeeds when repeated.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdbool.h>

struct workload_rule {
    const char *transport;
    bool auto_sm;
    bool (*failed)(void); /* whether the failure has been injected */
};

/* Sets up the log, which allocates. Call it before the failure is armed. */
void workload_prepare(void);

/* Runs the workload and reports deviations as failures (run.h). */
void workload_run(const struct workload_rule *rule);

#endif /* WORKLOAD_H */
