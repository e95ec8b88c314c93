/* SPDX-License-Identifier: BSD-3-Clause */
/* What the JSON of a result is called by, for writing and reading. */
#ifndef PERF_RESULT_JSON_H
#define PERF_RESULT_JSON_H

#include "perf/result.h"

/* The format's version: a newer minor one adds fields, a newer major one
 * changes them. */
#define PERF_JSON_MAJOR 1
#define PERF_JSON_MINOR 1

/* A file is no longer than that. */
#define PERF_JSON_SIZE_MAX ((size_t) 64 << 20)

/* "ns", "ops_per_s" or "bytes_per_s": the end of the name of each field that is
 * in the unit of the test. */
const char *perf_json_unit(enum perf_test test);

/* Room for the name of a field. */
#define PERF_JSON_NAME 48

/* "p50_ns" and so on. */
extern const char *const perf_json_quantiles[PERF_QUANTILES];

/* The settings as a new object; NULL: out of memory. */
json_t *perf_json_settings(const struct perf_settings *settings);

#endif /* PERF_RESULT_JSON_H */
