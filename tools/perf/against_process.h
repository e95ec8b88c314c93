/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of a peer's benchmark. Each has its own process group; its
 * output is kept in memory. */
#ifndef PERF_AGAINST_PROCESS_H
#define PERF_AGAINST_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_child {
    const char *name; /* for messages */
    pid_t pid;        /* 0: not started, or ended */
    int pidfd;
    int output; /* standard output and error, a memory file */
    int status; /* as of waitpid, after it has ended */
};

struct perf_launch {
    const char *path; /* of the program */
    char *const *argv;
    char *const *environment;
    const char *folder; /* where it runs */
    int32_t cpu;        /* -1: any */
};

/* Starts a process, which is killed when this one ends. false: the error was
 * printed; perf_child_end must still be called. */
bool perf_child_start(struct perf_child *child, const char *name,
    const struct perf_launch *launch);

/* Waits until the process has ended, and kills the rest of its group. false:
 * still running at the deadline (CLOCK_MONOTONIC, ns), or interrupted. */
bool perf_child_wait(struct perf_child *child, uint64_t deadline);

/* Returns the last megabyte of the output so far, terminated, to be freed.
 * NULL: out of memory. */
char *perf_child_output(const struct perf_child *child);

/* Prints the beginning and the end of the output on standard error. */
void perf_child_show(const struct perf_child *child);

/* Kills the group if it runs, and frees the output. */
void perf_child_end(struct perf_child *child);

/* Returns a free TCP port outside the ephemeral range; 0: none found. */
uint16_t perf_port_choose(void);

/* Whether a socket listens on a TCP port; does not connect to it. */
bool perf_port_listens(uint16_t port);

#endif /* PERF_AGAINST_PROCESS_H */
