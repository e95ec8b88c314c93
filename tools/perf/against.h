/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer's benchmark, run alternately with ours: fi_pingpong, ucx_perftest,
 * hg_rate, hg_bw_read, hg_bw_write. Starts the server that the tool needs. */
#ifndef PERF_AGAINST_H
#define PERF_AGAINST_H

#include "perf/result.h"

struct perf_against;

/* Parses a command: split into words as a shell does, without expansion. The
 * last component of its first word names the tool. The user's options are kept;
 * the options of the test (size, address) are added.
 *
 * Fails, with an error on standard error, if the program is unknown or missing,
 * or the tool cannot do this test. */
bool perf_against_start(const char *command,
    const struct perf_settings *settings, struct perf_against **against_p);

/* Runs server and client for a test at a size, each pinned by the settings.
 * *value_p: in the unit of the test (whole round trips, bytes). false: it
 * failed or its output is not understood; the output was printed on standard
 * error. Blocks for two minutes at most. */
bool perf_against_round(struct perf_against *against, enum perf_test test,
    uint64_t size, double *value_p);

/* Stops its processes and frees it. NULL is allowed. */
void perf_against_stop(struct perf_against *against);

#endif /* PERF_AGAINST_H */
