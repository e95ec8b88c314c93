/* SPDX-License-Identifier: BSD-3-Clause */
/* What the peers' benchmarks are asked and what they print. */
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

/* The peer of a program by the last part of its name. false: none is called so.
 */
bool perf_peer_find(const char *program, enum perf_peer *peer_p);

/* "fi_pingpong" and so on. */
const char *perf_peer_name(enum perf_peer peer);

/* Splits a command at blanks; quotes and backslashes hold parts together as in
 * a shell, nothing is expanded. The args end in NULL; free them by
 * perf_args_free. false: a quote is not closed, nothing is there, or no
 * memory, which was said. */
bool perf_args_split(const char *command, char ***words_p);
void perf_args_free(char **args);

/* How much of what ucx_perftest prints as a latency is the duration of one
 * operation: 2 where it prints half of a round trip, 1 where one operation is
 * one, 0 where it prints none that means something. */
int perf_peer_trips(enum perf_peer peer, char *const *args);

/* NULL, if a tool called with these args measures the test; else why not, in
 * args that are constant. */
const char *perf_peer_refuse(
    enum perf_peer peer, char *const *args, enum perf_test test);

/* Reads the value, in the unit of the test, out of everything that a tool has
 * printed. false: it isn't there. */
bool perf_peer_parse(enum perf_peer peer, int trips, enum perf_test test,
    uint64_t size, const char *output, double *value_p);

#endif /* PERF_AGAINST_PARSE_H */
