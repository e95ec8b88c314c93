/* SPDX-License-Identifier: BSD-3-Clause */
/* The gnuplot script of a picture. */
#ifndef PERF_PLOT_SCRIPT_H
#define PERF_PLOT_SCRIPT_H

#include "perf/result.h"

/* A line, or a bar for each size: a test of a result, or of its peer. */
struct perf_series {
    const struct perf_result *result;
    enum perf_test test;
    bool peer;
    const char *name; /* of the run */
};

struct perf_plot {
    const char *title; /* NULL: none */
    bool svg;          /* otherwise PNG */
    const struct perf_series *series;
    size_t count;
};

/* Writes the script, which draws to standard output. Names and the title are
 * quoted and never executed. */
void perf_plot_script(const struct perf_plot *plot, FILE *stream);

#endif /* PERF_PLOT_SCRIPT_H */
