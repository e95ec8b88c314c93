/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines and output of the peers' benchmarks. */
#ifndef PERF_AGAINST_PARSE_H
#define PERF_AGAINST_PARSE_H

#include "perf/result.h"

enum perf_peer {
    PERF_FI_PINGPONG,
    PERF_UCX_PERFTEST,
    PERF_HG_RATE,
    PERF_HG_BW_READ,
    PERF_HG_BW_WRITE,
    PERF_PEERS
};

/* Finds a peer by the last component of the program's name. false: unknown. */
bool perf_peer_find(const char *program, enum perf_peer *peer_p);

/* "fi_pingpong" and so on. */
const char *perf_peer_name(enum perf_peer peer);

/* Splits a command at blanks, with quotes and backslashes as in a shell,
 * without expansion. The array ends in NULL; free it by perf_args_free. false:
 * a quote is not closed, the command is empty, or out of memory; the error was
 * printed. */
bool perf_args_split(const char *command, char ***words_p);
void perf_args_free(char **args);

/* Returns the factor from the latency that the tool prints to the duration of
 * an operation: 2 if it prints half of a round trip, 1, or 0: it prints no
 * latency. */
int perf_peer_trips(enum perf_peer peer, char *const *args);

/* Returns NULL if a tool called with these arguments measures the test, else
 * the reason (a constant string). */
const char *perf_peer_refuse(
    enum perf_peer peer, char *const *args, enum perf_test test);

/* Reads the value, in the unit of the test, from the whole output of a tool.
 * false: not found. */
bool perf_peer_parse(enum perf_peer peer, int trips, enum perf_test test,
    uint64_t size, const char *output, double *value_p);

#endif /* PERF_AGAINST_PARSE_H */
