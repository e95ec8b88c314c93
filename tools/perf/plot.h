/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria perf plot: results as a picture, drawn by gnuplot. */
#ifndef PERF_PLOT_H
#define PERF_PLOT_H

/* The action; argv[0] is "talaria perf plot". Parses the rest with argp, which
 * ends the program with TOOL_USAGE by itself. Returns what a subcommand does.
 * */
int perf_plot(int argc, char **argv);

#endif /* PERF_PLOT_H */
