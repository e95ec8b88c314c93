/* SPDX-License-Identifier: BSD-3-Clause */
/* The leading process: has everything measured that was asked for. */
#ifndef PERF_RUN_H
#define PERF_RUN_H

#include "perf/options.h"

/* name: of the action, for what goes wrong. Returns what a subcommand does. */
int perf_run(const char *name, const struct perf_options *options);

#endif /* PERF_RUN_H */
