/* SPDX-License-Identifier: BSD-3-Clause */
/* The leading process of a measurement. */
#ifndef PERF_RUN_H
#define PERF_RUN_H

#include "perf/options.h"

/* Measures and prints. name: of the action, for messages. Returns the exit
 * status. */
int perf_run(const char *name, const struct perf_options *options);

#endif /* PERF_RUN_H */
