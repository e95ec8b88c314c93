/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer's benchmark, run in turn with ours: fi_pingpong, ucx_perftest,
 * hg_rate, hg_bw_read, hg_bw_write. Its server is started as that tool needs
 * it.
 */
#ifndef PERF_AGAINST_H
#define PERF_AGAINST_H

#include "perf/result.h"

struct perf_against;

/* Understands a command, split into words as a shell would without expanding
 * anything; the tool is known by the last part of its first word. Options of
 * the user's stay; what the test needs (size, client's address) is added.
 *
 * Refused, with words on standard error: an unknown or missing program, a tool
 * that cannot do this test (fi_pingpong and latencies only, …). */
bool perf_against_start(const char *command,
    const struct perf_settings *settings, struct perf_against **against_p);

/* One run of the peer's benchmark for a test at a size, server and client, each
 * pinned as the settings say. *value_p: in the unit of the test (a round trip
 * where the tool prints half of one, bytes where it prints MB). false: it
 * failed or was not understood; its output was shown on standard error. Blocks
 * until it is over, at most for two minutes. */
bool perf_against_round(struct perf_against *against, enum perf_test test,
    uint64_t size, double *value_p);

/* Stops its processes and frees it. NULL is allowed. */
void perf_against_stop(struct perf_against *against);

#endif /* PERF_AGAINST_H */
