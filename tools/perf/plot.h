/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria perf plot: draws results with gnuplot. */
#ifndef PERF_PLOT_H
#define PERF_PLOT_H

/* The action; argv[0] is "talaria perf plot". Returns the exit status. */
int perf_plot(int argc, char **argv);

#endif /* PERF_PLOT_H */
