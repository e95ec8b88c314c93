/* SPDX-License-Identifier: BSD-3-Clause */
/* The gnuplot script of a picture: one panel for each unit, with lines over
 * sizes, or bars if each line would be a single point. */
#include "perf/plot_script.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "perf/format.h"

#define WIDTH 1000
#define HEIGHT 600 /* of a panel */
#define TICS_MAX 14
#define LETTERS 80 /* of the tic labels that fit in WIDTH */
/* A y axis that spans more than this factor is logarithmic. */
#define SPAN_LINEAR 12.0

/* Tests that share an axis. */
enum panel { DURATIONS, RATES, BANDWIDTHS, PANELS };

/* Distinct for the colour-blind, and of different brightness; shapes and dashes
 * differ too. */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73",
    "#cc79a7", "#000000", "#e69f00", "#56b4e9", "#7f7f7f"};
static const int shapes[] = {7, 5, 9, 13, 6, 4, 8, 12};
#define STYLES (sizeof shapes / sizeof shapes[0])

struct scale {
    double factor; /* values are divided by it */
    const char *label;
    bool logarithmic;
    double least; /* of all values and intervals, not scaled */
    double most;
    double size_least; /* log2, of sizes above 0 */
    double size_most;
    bool has_zero; /* a size of 0 */
    bool bars;
};

static enum panel
panel_of(enum perf_test test)
{
    if (test == PERF_LAT)
        return DURATIONS;
    return test == PERF_RATE ? RATES : BANDWIDTHS;
}

/* Gnuplot expands nothing in single quotes; a quote is doubled. */
static void
write_quoted(FILE *stream, const char *text)
{
    fputc('\'', stream);
    for (; *text; text++) {
        unsigned char c = (unsigned char) *text;

        if (c == '\'')
            fputc(c, stream);
        fputc(c < ' ' || c == 0x7f ? ' ' : c, stream);
    }
    fputc('\'', stream);
}

/* Gets a point's value and interval; without an interval, the range of its
 * rounds. false: no value. */
static bool
value_of(const struct perf_series *series, const struct perf_point *point,
    double *value_p, double *low_p, double *high_p)
{
    struct perf_summary summary;

    perf_point_summarize(point, &summary);
    if (series->peer) {
        *value_p = *low_p = *high_p = summary.peer_median;
    } else {
        *value_p = summary.median;
        *low_p = isfinite(summary.low) ? summary.low : summary.min;
        *high_p = isfinite(summary.high) ? summary.high : summary.max;
    }
    return isfinite(*value_p) && *value_p > 0 && *low_p > 0;
}

static void
widen(struct scale *scale, const struct perf_series *series)
{
    double value, low, high, size;

    for (size_t i = 0; i < series->result->count; i++) {
        const struct perf_point *point = &series->result->points[i];

        if (point->test != series->test ||
            !value_of(series, point, &value, &low, &high))
            continue;
        scale->least = fmin(scale->least, low);
        scale->most = fmax(scale->most, high);
        if (point->size == 0) {
            scale->has_zero = true;
            continue;
        }
        size = log2((double) point->size);
        scale->size_least = fmin(scale->size_least, size);
        scale->size_most = fmax(scale->size_most, size);
    }
}

static size_t
points_of(const struct perf_series *series)
{
    double value, low, high;
    size_t count = 0;

    for (size_t i = 0; i < series->result->count; i++)
        count +=
            series->result->points[i].test == series->test &&
            value_of(series, &series->result->points[i], &value, &low, &high);
    return count;
}

static void
choose_unit(enum panel panel, struct scale *scale)
{
    double middle =
        scale->logarithmic ? sqrt(scale->least * scale->most) : scale->most;

    if (panel == DURATIONS) {
        scale->factor = middle < 1000 ? 1 : middle < 1e6 ? 1e3 : 1e6;
        scale->label = middle < 1000  ? "Duration of an operation, ns"
                       : middle < 1e6 ? "Duration of an operation, µs"
                                      : "Duration of an operation, ms";
    } else if (panel == RATES) {
        scale->factor = middle < 1e6 ? 1e3 : 1e6;
        scale->label = middle < 1e6 ? "Operations a second, thousands"
                                    : "Operations a second, millions";
    } else {
        scale->factor = 1048576;
        scale->label = "Bandwidth, MiB/s";
    }
}

/* Computes the scale of a panel. false: nothing to draw. */
static bool
fit(const struct perf_plot *plot, enum panel panel, struct scale *scale)
{
    *scale = (struct scale){.least = (double) INFINITY,
        .size_least = (double) INFINITY,
        .size_most = -(double) INFINITY,
        .bars = true};
    for (size_t i = 0; i < plot->count; i++) {
        if (panel_of(plot->series[i].test) != panel)
            continue;
        widen(scale, &plot->series[i]);
        if (points_of(&plot->series[i]) > 1)
            scale->bars = false;
    }
    if (scale->most <= 0)
        return false;
    if (scale->size_least > scale->size_most)
        scale->size_least = scale->size_most = 0;
    scale->logarithmic =
        !scale->bars && scale->most / scale->least > SPAN_LINEAR;
    choose_unit(panel, scale);
    return true;
}

/* Writes the name of a line, with the test or peer if there are several. */
static void
write_name(const struct perf_plot *plot, const struct perf_series *series,
    FILE *stream)
{
    char text[400];
    bool several = false;

    for (size_t i = 0; i < plot->count; i++)
        several |= plot->series[i].test != series->test;
    if (series->peer)
        snprintf(text, sizeof text, "%.150s, peer: %.150s%s%s", series->name,
            series->result->settings.against ? series->result->settings.against
                                             : "",
            several ? ", " : "", several ? perf_test_name(series->test) : "");
    else
        snprintf(text, sizeof text, "%.300s%s%s", series->name,
            several ? ", " : "", several ? perf_test_name(series->test) : "");
    write_quoted(stream, text);
}

/* Returns the position of a size on the axis; 0 is left of the smallest. */
static double
x_of(const struct scale *scale, uint64_t size)
{
    return size > 0 ? log2((double) size) : scale->size_least - 1;
}

/* Writes a datablock of x, value, low, high, text. */
static void
write_data(const struct perf_plot *plot, const struct scale *scale, size_t i,
    FILE *stream)
{
    const struct perf_series *series = &plot->series[i];
    double value, low, high;
    char text[PERF_FORMAT_MAX];

    fprintf(stream, "$data%zu << EOD\n", i);
    for (size_t j = 0; j < series->result->count; j++) {
        const struct perf_point *point = &series->result->points[j];

        if (point->test != series->test ||
            !value_of(series, point, &value, &low, &high))
            continue;
        perf_format_value(text, series->test, value);
        fprintf(stream, "%.9g %.9g %.9g %.9g \"%s\"\n",
            x_of(scale, point->size), value / scale->factor,
            low / scale->factor, high / scale->factor, text);
    }
    fputs("EOD\n", stream);
}

/* Writes tics at powers of two: "64", "4 K", "1 M". */
static void
write_size_tics(const struct scale *scale, FILE *stream)
{
    int from = (int) floor(scale->size_least);
    int to = (int) ceil(scale->size_most);
    int step = (to - from) / TICS_MAX + 1;
    const char *comma = "";

    fputs("set xtics (", stream);
    if (scale->has_zero) {
        fprintf(stream, "'0' %.9g", scale->size_least - 1);
        comma = ", ";
    }
    for (int i = from; i <= to; i += step) {
        static const char *const suffixes[] = {
            "", " K", " M", " G", " T", " P", " E"};

        fprintf(
            stream, "%s'%d%s' %d", comma, 1 << (i % 10), suffixes[i / 10], i);
        comma = ", ";
    }
    fprintf(stream, ")\nset xrange [%.9g:%.9g]\n",
        scale->size_least - (scale->has_zero ? 1.3 : 0.3),
        scale->size_most + 0.3);
}

/* Writes the style of a line; a peer's is dashed. */
static void
write_style(const struct perf_plot *plot, size_t i, FILE *stream)
{
    int dash = plot->series[i].peer ? 2 : i < STYLES ? 1 : 4;

    fprintf(stream, "lc rgb '%s' dt %d lw 2", colours[i % STYLES], dash);
}

static void
write_lines(const struct perf_plot *plot, enum panel panel,
    const struct scale *scale, FILE *stream)
{
    const char *separator = "plot ";

    write_size_tics(scale, stream);
    fputs("set xlabel 'Bytes of an operation'\nset grid xtics\n", stream);
    if (scale->logarithmic)
        fputs("set logscale y 10\n", stream);
    else
        /* A tenth of room above the highest point, in the unit of the axis. */
        fprintf(
            stream, "set yrange [0:%.9g]\n", 1.1 * scale->most / scale->factor);
    for (size_t i = 0; i < plot->count; i++) {
        if (panel_of(plot->series[i].test) != panel)
            continue;
        fprintf(
            stream, "%s$data%zu using 1:2:3:4 with yerrorlines ", separator, i);
        write_style(plot, i, stream);
        fprintf(stream, " pt %d ps 1.1 title ", shapes[i % STYLES]);
        write_name(plot, &plot->series[i], stream);
        separator = ", \\\n  ";
    }
    fputc('\n', stream);
}

/* Writes the size below the bars if all have the same one. */
static void
write_bar_size(const struct perf_plot *plot, enum panel panel, FILE *stream)
{
    const struct perf_point *first = NULL;
    char text[PERF_FORMAT_MAX];

    fputs("unset xlabel\n", stream);
    for (size_t i = 0; i < plot->count; i++) {
        const struct perf_series *series = &plot->series[i];

        for (size_t j = 0; j < series->result->count; j++) {
            const struct perf_point *point = &series->result->points[j];

            if (point->test != series->test || panel_of(point->test) != panel)
                continue;
            if (first && first->size != point->size)
                return;
            first = point;
        }
    }
    if (!first)
        return;
    perf_format_size(text, first->size);
    fprintf(stream, "set xlabel '%s an operation'\n", text);
}

/* Writes the names of bars as tics, rotated if they are long. */
static void
write_bar_tics(const struct perf_plot *plot, enum panel panel, FILE *stream)
{
    const char *comma = "";
    size_t length = 0;
    int x = 0;

    fputs("set xtics (", stream);
    for (size_t i = 0; i < plot->count; i++)
        if (panel_of(plot->series[i].test) == panel) {
            fputs(comma, stream);
            write_name(plot, &plot->series[i], stream);
            fprintf(stream, " %d", x++);
            comma = ", ";
            if (strlen(plot->series[i].name) > length)
                length = strlen(plot->series[i].name);
        }
    fprintf(stream, ") %s\nset xrange [-0.6:%.9g]\n",
        length * (size_t) x > LETTERS ? "rotate by -20" : "norotate",
        (double) x - 0.4);
}

static void
write_bars(const struct perf_plot *plot, enum panel panel,
    const struct scale *scale, FILE *stream)
{
    /* Fills that differ without colours, too. */
    static const char *const fills[] = {"solid 0.8", "pattern 4", "solid 0.3",
        "pattern 5", "pattern 2", "pattern 1"};
    const char *separator = "plot ";
    int x = 0;

    write_bar_tics(plot, panel, stream);
    write_bar_size(plot, panel, stream);
    fprintf(stream, "set grid noxtics\nset yrange [0:%.9g]\nset boxwidth 0.6\n",
        1.2 * scale->most / scale->factor);
    for (size_t i = 0; i < plot->count; i++) {
        if (panel_of(plot->series[i].test) != panel)
            continue;
        fprintf(stream,
            "%s$data%zu using (%d):2:3:4:(0.6) with boxerrorbars notitle "
            "lc rgb '%s' lw 2 fs %s border lc rgb '%s', \\\n"
            "  $data%zu using (%d):4:5 with labels offset 0,0.8 notitle",
            separator, i, x, colours[i % STYLES],
            fills[i % (sizeof fills / sizeof fills[0])], colours[i % STYLES], i,
            x);
        separator = ", \\\n  ";
        x++;
    }
    fputc('\n', stream);
}

static void
write_panel(const struct perf_plot *plot, enum panel panel,
    const struct scale *scale, FILE *stream)
{
    for (size_t i = 0; i < plot->count; i++)
        if (panel_of(plot->series[i].test) == panel)
            write_data(plot, scale, i, stream);
    fputs("unset logscale y\nset yrange [*:*]\n", stream);
    fprintf(stream, "set ylabel '%s'\n", scale->label);
    if (scale->bars)
        write_bars(plot, panel, scale, stream);
    else
        write_lines(plot, panel, scale, stream);
}

void
perf_plot_script(const struct perf_plot *plot, FILE *stream)
{
    struct scale scales[PANELS];
    bool drawn[PANELS];
    int panels = 0;

    for (int i = 0; i < PANELS; i++) {
        drawn[i] = fit(plot, (enum panel) i, &scales[i]);
        panels += drawn[i];
    }
    fputs("set encoding utf8\nset loadpath\n", stream);
    fprintf(stream,
        "set terminal %s noenhanced size %d,%d font 'DejaVu Sans,%d' "
        "background rgb 'white'\n",
        plot->svg ? "svg" : "pngcairo", WIDTH, HEIGHT * panels,
        plot->svg ? 15 : 13);
    fputs("set grid xtics ytics lt 1 lw 1 lc rgb '#d0d0d0'\n"
          "set border 3\nset tics nomirror\n"
          "set key tmargin left vertical maxcols 1 noenhanced Left reverse\n"
          "set bars 0.6\nset style fill solid\n",
        stream);
    if (panels > 1)
        fprintf(stream, "set multiplot layout %d,1\n", panels);
    for (int i = 0; i < PANELS; i++) {
        if (!drawn[i])
            continue;
        if (plot->title) {
            fputs("set title ", stream);
            write_quoted(stream, plot->title);
            fputs(" noenhanced\n", stream);
        }
        write_panel(plot, (enum panel) i, &scales[i], stream);
    }
    if (panels > 1)
        fputs("unset multiplot\n", stream);
}
