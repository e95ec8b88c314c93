/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria perf compare: two results, point by point. */
#ifndef PERF_COMPARE_H
#define PERF_COMPARE_H

/* The action; argv[0] is "talaria perf compare". Parses the rest with argp,
 * which ends the program with TOOL_USAGE by itself. Returns what a subcommand
 * does; TOOL_FAILED also when --fail-worse was given and something is. */
int perf_compare(int argc, char **argv);

#endif /* PERF_COMPARE_H */
