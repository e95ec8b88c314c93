/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats numbers and tables. */
#include "perf/format.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A unit and its factor. */
struct unit {
    const char *name;
    double factor;
};

static const struct unit durations[] = {
    {"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
static const struct unit rates[] = {
    {"/s", 1}, {"K/s", 1e3}, {"M/s", 1e6}, {"G/s", 1e9}};
static const struct unit bandwidths[] = {
    {"B/s", 1}, {"KiB/s", 1024}, {"MiB/s", 1048576}};

static const struct unit *
units_of(enum perf_test test, size_t *count_p)
{
    switch (test) {
    case PERF_LAT:
        *count_p = sizeof durations / sizeof durations[0];
        return durations;
    case PERF_RATE:
        *count_p = sizeof rates / sizeof rates[0];
        return rates;
    default:
        *count_p = sizeof bandwidths / sizeof bandwidths[0];
        return bandwidths;
    }
}

/* Returns the largest unit below the value, else the smallest. */
static const struct unit *
choose_unit(enum perf_test test, double value)
{
    size_t count, i = 0;
    const struct unit *units = units_of(test, &count);

    while (i + 1 < count && value >= units[i + 1].factor)
        i++;
    return &units[i];
}

/* Returns the decimals for three significant digits. */
static int
digits_of(double value)
{
    if (value >= 100)
        return 0;
    return value >= 10 ? 1 : 2;
}

void
perf_format_value(char *text, enum perf_test test, double value)
{
    const struct unit *unit;

    if (!isfinite(value)) {
        snprintf(text, PERF_FORMAT_MAX, "-");
        return;
    }
    unit = choose_unit(test, value);
    value /= unit->factor;
    snprintf(
        text, PERF_FORMAT_MAX, "%.*f %s", digits_of(value), value, unit->name);
}

void
perf_format_ns(char *text, double ns)
{
    perf_format_value(text, PERF_LAT, ns);
}

void
perf_format_range(char *text, enum perf_test test, double low, double high)
{
    const struct unit *unit;

    if (!isfinite(low) || !isfinite(high)) {
        snprintf(text, PERF_FORMAT_MAX, "-");
        return;
    }
    unit = choose_unit(test, low);
    low /= unit->factor;
    high /= unit->factor;
    snprintf(text, sizeof(struct perf_cell), "%.*f–%.*f %s", digits_of(low),
        low, digits_of(low), high, unit->name);
}

void
perf_format_ratio(char *text, double ratio)
{
    if (isfinite(ratio))
        snprintf(text, PERF_FORMAT_MAX, "%.3f", ratio);
    else
        snprintf(text, PERF_FORMAT_MAX, "-");
}

void
perf_format_ratios(char *text, double low, double high)
{
    if (isfinite(low) && isfinite(high))
        snprintf(text, sizeof(struct perf_cell), "%.3f–%.3f", low, high);
    else
        snprintf(text, PERF_FORMAT_MAX, "-");
}

void
perf_format_size(char *text, uint64_t size)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB"};
    size_t i = 0;

    while (i + 1 < sizeof names / sizeof names[0] && size >= 1024 &&
           size % 1024 == 0) {
        size /= 1024;
        i++;
    }
    snprintf(text, PERF_FORMAT_MAX, "%" PRIu64 " %s", size, names[i]);
}

/* Returns the columns of UTF-8 text on a terminal; we print no wide
 * characters. */
static int
width_of(const char *text)
{
    int width = 0;

    for (; *text; text++)
        width += ((unsigned char) *text & 0xc0) != 0x80;
    return width;
}

static bool
is_empty(const struct perf_cell *cells, size_t rows, size_t columns, size_t i)
{
    for (size_t row = 1; row < rows; row++) {
        const char *text = cells[row * columns + i].text;

        if (*text && strcmp(text, "-") != 0)
            return false;
    }
    return true;
}

/* Returns the width of a column; 0: omitted. */
static int
column_width(
    const struct perf_cell *cells, size_t rows, size_t columns, size_t i)
{
    int width = 0;

    if (is_empty(cells, rows, columns, i))
        return 0;
    for (size_t row = 0; row < rows; row++) {
        int cell = width_of(cells[row * columns + i].text);

        if (cell > width)
            width = cell;
    }
    return width;
}

void
perf_format_table(
    FILE *stream, const struct perf_cell *cells, size_t rows, size_t columns)
{
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < columns; i++) {
            const char *text = cells[row * columns + i].text;
            int width = column_width(cells, rows, columns, i);

            if (width > 0)
                fprintf(stream, "%s%*s%s", i ? "  " : "",
                    width - width_of(text), "", text);
        }
        fputc('\n', stream);
    }
}
