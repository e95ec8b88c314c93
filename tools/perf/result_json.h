/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of the JSON of a result, to write and to read it. */
#ifndef PERF_RESULT_JSON_H
#define PERF_RESULT_JSON_H

#include "perf/result.h"

/* The version of the format: a new minor adds fields, a new major changes
 * them. */
#define PERF_JSON_MAJOR 1
#define PERF_JSON_MINOR 3

/* Bytes of a file, at most. */
#define PERF_JSON_SIZE_MAX ((size_t) 64 << 20)

/* Returns "ns", "ops_per_s" or "bytes_per_s": the end of the names of fields in
 * the unit of the test. */
const char *perf_json_unit(enum perf_test test);

/* Bytes of a field's name, at most. */
#define PERF_JSON_NAME 48

/* "p50_ns", …. */
extern const char *const perf_json_quantiles[PERF_QUANTILES];

/* Returns the settings as a new object. NULL: out of memory. */
json_t *perf_json_settings(const struct perf_settings *settings);

#endif /* PERF_RESULT_JSON_H */
