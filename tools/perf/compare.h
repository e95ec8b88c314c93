/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria perf compare: compares two results point by point. */
#ifndef PERF_COMPARE_H
#define PERF_COMPARE_H

/* The action; argv[0] is "talaria perf compare". Returns the exit status;
 * TOOL_FAILED also if a point is worse than --fail-worse allows. */
int perf_compare(int argc, char **argv);

#endif /* PERF_COMPARE_H */
