/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of the actions lat, rate and bw. */
#ifndef PERF_OPTIONS_H
#define PERF_OPTIONS_H

#include "perf/plan.h"

#define PERF_SIZES_MAX 64

enum perf_action { PERF_ACTION_LAT, PERF_ACTION_RATE, PERF_ACTION_BW };

enum perf_form { PERF_FORM_TABLE, PERF_FORM_CSV, PERF_FORM_JSON };

struct perf_options {
    struct perf_settings settings; /* strings are of argv */
    const char *token_file;        /* of the server at ADDRESS, or NULL */
    const char *via;               /* info string of this side, or NULL */
    enum perf_test tests[2];
    uint32_t test_count;
    uint64_t sizes[PERF_SIZES_MAX];
    uint32_t size_count;
    uint64_t warm_up_ns; /* UINT64_MAX: no limit */
    enum perf_form form;
    bool callgrind;
    bool in_process; /* the client is a thread of this process */
    bool keep_slow;
    bool busy_asked; /* by an option, to compare with the server's */
    bool single_asked;
    bool target_cpu_asked;
};

/* Parses the options. Exits with TOOL_USAGE if they are invalid. argv[0]: name
 * of the action. */
void perf_options_parse(enum perf_action action, int argc, char **argv,
    struct perf_options *options_p);

/* Returns the plan of the options. */
void perf_options_plan(
    const struct perf_options *options, struct perf_plan *plan_p);

#endif /* PERF_OPTIONS_H */
