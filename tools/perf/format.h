/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers with suitable units, and tables of them. */
#ifndef PERF_FORMAT_H
#define PERF_FORMAT_H

#include "perf/result.h"

/* Bytes of one formatted number, terminated. */
#define PERF_FORMAT_MAX 32

struct perf_cell {
    char text[2 * PERF_FORMAT_MAX];
};

/* "205 ns", "1.23 µs"; "-" of NaN. */
void perf_format_ns(char *text, double ns);

/* In the unit of the test: as ns, "1.23 M/s", "6,617 MiB/s". */
void perf_format_value(char *text, enum perf_test test, double value);

/* "64 B", "4 KiB"; in bytes unless it is a multiple of a unit. */
void perf_format_size(char *text, uint64_t size);

/* "1.024"; "-" of NaN. */
void perf_format_ratio(char *text, double ratio);

/* "1.020–1.031"; "-" if one is NaN. text: of a cell. */
void perf_format_ratios(char *text, double low, double high);

/* "205–211 ns", "0.98–1.02 µs": both in the unit of the first; "-" if one is
 * NaN. text: of a cell. */
void perf_format_range(
    char *text, enum perf_test test, double low, double high);

/* Prints rows of cells, right-aligned, each column as wide as its longest cell.
 * Omits a column if all cells below the first row are empty or "-". */
void perf_format_table(
    FILE *stream, const struct perf_cell *cells, size_t rows, size_t columns);

#endif /* PERF_FORMAT_H */
