/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of a peer's benchmark: each a group of its own, with its output
 * kept in memory. */
#ifndef PERF_AGAINST_PROCESS_H
#define PERF_AGAINST_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_child {
    const char *name; /* for people */
    pid_t pid;        /* 0: not started, or over */
    int pidfd;
    int output; /* standard output and error, a memory file */
    int status; /* as of waitpid, once it is over */
};

struct perf_launch {
    const char *path; /* of the program */
    char *const *argv;
    char *const *environment;
    const char *folder; /* where it runs */
    int32_t cpu;        /* -1: anywhere */
};

/* Starts a process, which is killed when this one ends. false: that was said;
 * the child is to be ended nevertheless. */
bool perf_child_start(struct perf_child *child, const char *name,
    const struct perf_launch *launch);

/* Waits until it is over, whatever is left of its group being killed then.
 * false: not before the deadline (CLOCK_MONOTONIC, ns), or interrupted. */
bool perf_child_wait(struct perf_child *child, uint64_t deadline);

/* What it has printed so far, its last megabyte, terminated; "" at least; NULL:
 * out of memory. Free it. */
char *perf_child_output(const struct perf_child *child);

/* Shows the last lines of that on standard error. */
void perf_child_show(const struct perf_child *child);

/* Kills its group if it runs, and forgets its output. */
void perf_child_end(struct perf_child *child);

/* A TCP port that nobody listens on, not of those that the system gives to
 * clients; 0: none was found. */
uint16_t perf_port_choose(void);

/* Whether somebody listens on a TCP port, found without connecting to it. */
bool perf_port_listens(uint16_t port);

#endif /* PERF_AGAINST_PROCESS_H */
