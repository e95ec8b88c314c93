/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests of each peer, and parsing its output. */
#include "perf/against_parse.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fields of a line, at most; others are ignored. */
#define FIELDS_MAX 16

static const char *const names[PERF_PEERS] = {
    "fi_pingpong", "ucx_perftest", "hg_rate", "hg_bw_read", "hg_bw_write"};

bool
perf_peer_find(const char *program, enum perf_peer *peer_p)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;

    for (int i = 0; i < PERF_PEERS; i++)
        if (strcmp(name, names[i]) == 0) {
            *peer_p = (enum perf_peer) i;
            return true;
        }
    return false;
}

const char *
perf_peer_name(enum perf_peer peer)
{
    return names[peer];
}

/* Copies one word without its quotes. Returns the text after it, or NULL: a
 * quote is not closed. */
static const char *
copy_word(const char *from, char *to)
{
    char quote = '\0';

    for (; *from && (quote || !isspace((unsigned char) *from)); from++) {
        if (*from == '\\' && quote != '\'' && from[1] &&
            (!quote || strchr("\\\"$`", from[1])))
            *to++ = *++from;
        else if (*from == quote)
            quote = '\0';
        else if (!quote && (*from == '\'' || *from == '"'))
            quote = *from;
        else
            *to++ = *from;
    }
    *to = '\0';
    return quote ? NULL : from;
}

static const char *
skip_blanks(const char *text)
{
    return text + strspn(text, " \t\n\r\f\v");
}

bool
perf_args_split(const char *command, char ***words_p)
{
    size_t length = strlen(command), count = 0;
    /* At most half as many words as bytes, plus one. */
    char **args = calloc(length / 2 + 2, sizeof *args);
    char *word = malloc(length + 1);

    command = skip_blanks(command);
    while (args && word && *command) {
        command = copy_word(command, word);
        if (!command) {
            fputs("talaria perf: --against: a quote is not closed\n", stderr);
            goto free_words;
        }
        args[count] = strdup(word);
        if (!args[count++])
            goto no_memory;
        command = skip_blanks(command);
    }
    if (!args || !word)
        goto no_memory;
    if (count == 0) {
        fputs("talaria perf: --against: there is no command\n", stderr);
        goto free_words;
    }
    free(word);
    *words_p = args;
    return true;
no_memory:
    fputs("talaria perf: out of memory\n", stderr);
free_words:
    free(word);
    perf_args_free(args);
    return false;
}

void
perf_args_free(char **args)
{
    for (size_t i = 0; args && args[i]; i++)
        free(args[i]);
    free(args);
}

/* Returns the value of -t, with or without a blank; the last one counts. */
static const char *
ucx_test(char *const *args)
{
    const char *test = "";

    for (size_t i = 0; args[i]; i++) {
        if (strncmp(args[i], "-t", 2) != 0)
            continue;
        if (args[i][2])
            test = args[i] + 2;
        else if (args[i + 1])
            test = args[++i];
    }
    return test;
}

static bool
ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), n = strlen(end);

    return length >= n && strcmp(text + length - n, end) == 0;
}

/* Whether a test of ucx_perftest measures one operation until it completes at
 * the origin. */
static bool
is_ucx_operation(const char *test)
{
    static const char *const operations[] = {"get", "fadd", "swap", "cswap"};

    if (strncmp(test, "ucp_", 4) == 0)
        test += 4;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (strcmp(test, operations[i]) == 0)
            return true;
    return false;
}

int
perf_peer_trips(enum perf_peer peer, char *const *args)
{
    const char *test;

    if (peer == PERF_FI_PINGPONG)
        return 2;
    if (peer != PERF_UCX_PERFTEST)
        return 1;
    test = ucx_test(args);
    if (ends_in(test, "_lat"))
        return 2;
    return is_ucx_operation(test) ? 1 : 0;
}

static const char *
refuse_ucx(char *const *args, enum perf_test test)
{
    const char *name = ucx_test(args);

    if (!*name)
        return "ucx_perftest needs -t and the name of a test";
    switch (test) {
    case PERF_LAT:
        return perf_peer_trips(PERF_UCX_PERFTEST, args) > 0
                   ? NULL
                   : "this test of ucx_perftest (-t) measures no latency";
    case PERF_RATE:
        return ends_in(name, "_lat")
                   ? "this test of ucx_perftest (-t) measures no rate"
                   : NULL;
    case PERF_BW_READ:
        return ends_in(name, "get")
                   ? NULL
                   : "this test of ucx_perftest (-t) does not read: give "
                     "--write, or -t ucp_get";
    default:
        return ends_in(name, "_bw")
                   ? NULL
                   : "this test of ucx_perftest (-t) does not write: give "
                     "--read, or one that ends in _bw";
    }
}

const char *
perf_peer_refuse(enum perf_peer peer, char *const *args, enum perf_test test)
{
    switch (peer) {
    case PERF_FI_PINGPONG:
        return test == PERF_LAT ? NULL : "fi_pingpong measures latencies only";
    case PERF_UCX_PERFTEST:
        return refuse_ucx(args, test);
    case PERF_HG_RATE:
        return test == PERF_LAT || test == PERF_RATE
                   ? NULL
                   : "hg_rate measures latencies and rates only";
    case PERF_HG_BW_READ:
        return test == PERF_BW_READ ? NULL
                                    : "hg_bw_read measures bw --read only";
    default:
        return test == PERF_BW_WRITE ? NULL
                                     : "hg_bw_write measures bw --write only";
    }
}

struct line {
    char text[512];
    char *fields[FIELDS_MAX];
    size_t count;
};

/* Splits the next line at separators; long lines are cut. Returns the text
 * after it, or NULL: no complete line is left (an unfinished one may lack
 * digits). */
static const char *
next_line(const char *output, const char *separators, struct line *line)
{
    const char *end = strchr(output, '\n');
    size_t length;
    char *rest;

    if (!end)
        return NULL;
    length = (size_t) (end - output);
    if (length >= sizeof line->text)
        length = sizeof line->text - 1;
    memcpy(line->text, output, length);
    line->text[length] = '\0';
    line->count = 0;
    for (char *field = strtok_r(line->text, separators, &rest);
         field && line->count < FIELDS_MAX;
         field = strtok_r(NULL, separators, &rest))
        line->fields[line->count++] = field;
    return end + 1;
}

/* Returns the index of a field, or FIELDS_MAX. */
static size_t
find_field(const struct line *line, const char *name)
{
    for (size_t i = 0; i < line->count; i++)
        if (strcmp(line->fields[i], name) == 0)
            return i;
    return FIELDS_MAX;
}

/* Reads a number above 0 that is the whole text. */
static bool
read_number(const char *text, double *number_p)
{
    char *end;
    double number = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(number) || number <= 0)
        return false;
    *number_p = number;
    return true;
}

/* Reads a column of the last row. `head` is the first word of the heading line;
 * rows have as many fields as it. */
static bool
read_column(const char *output, const char *separators, const char *head,
    const char *name, double *number_p)
{
    size_t column = FIELDS_MAX, count = 0;
    struct line line;
    bool found = false;

    while ((output = next_line(output, separators, &line))) {
        if (line.count > 0 && strcmp(line.fields[0], head) == 0) {
            column = find_field(&line, name);
            count = line.count;
        } else if (column < FIELDS_MAX && line.count == count) {
            found = read_number(line.fields[column], number_p);
        }
    }
    return found;
}

static bool
parse_ucx(int trips, enum perf_test test, const char *output, double *value_p)
{
    static const char separators[] = ",\r";
    double number;

    switch (test) {
    case PERF_LAT:
        if (!read_column(
                output, separators, "iterations", "overall_lat", &number))
            return false;
        *value_p = number * 1000 * trips;
        return true;
    case PERF_RATE:
        return read_column(
            output, separators, "iterations", "overall_mr", value_p);
    default:
        /* Its MB has 1024 * 1024 bytes. */
        if (!read_column(
                output, separators, "iterations", "overall_bw", &number))
            return false;
        *value_p = number * 1048576;
        return true;
    }
}

/* Returns the number before "handle(s)" in a "# Loop" line, or 0. */
static double
handles_of(const struct line *line)
{
    size_t i = find_field(line, "handle(s)");
    double number;

    if (i == 0 || i == FIELDS_MAX || !read_number(line->fields[i - 1], &number))
        return 0;
    return number;
}

static bool
is_size(const char *text, uint64_t size)
{
    char *end;

    return isdigit((unsigned char) *text) && strtoull(text, &end, 10) == size &&
           *end == '\0';
}

/* Rows have size, value, time in µs; a heading line has the unit of the
 * value. */
static bool
parse_hg(
    enum perf_test test, uint64_t size, const char *output, double *value_p)
{
    double handles = 0, factor = 0, number;
    struct line line;

    while ((output = next_line(output, " \t\r", &line))) {
        if (line.count == 0)
            continue;
        if (strcmp(line.fields[0], "#") == 0) {
            double found = handles_of(&line);

            if (found > 0)
                handles = found;
            if (find_field(&line, "(ops/s)\"") < FIELDS_MAX)
                factor = 1;
            else if (find_field(&line, "(MiB/s)\"") < FIELDS_MAX)
                factor = 1048576;
            else if (find_field(&line, "(MB/s)\"") < FIELDS_MAX)
                factor = 1e6;
            continue;
        }
        if (factor == 0 || line.count < 3 || !is_size(line.fields[0], size))
            continue;
        /* The time covers all operations in flight: scaled to one operation. */
        if (!read_number(line.fields[test == PERF_LAT ? 2 : 1], &number) ||
            (test == PERF_LAT && handles == 0))
            return false;
        *value_p = test == PERF_LAT ? number * 1000 * handles : number * factor;
        return true;
    }
    return false;
}

bool
perf_peer_parse(enum perf_peer peer, int trips, enum perf_test test,
    uint64_t size, const char *output, double *value_p)
{
    double number;

    switch (peer) {
    case PERF_FI_PINGPONG:
        if (!read_column(output, " \t\r", "bytes", "usec/xfer", &number))
            return false;
        *value_p = number * 1000 * trips;
        return true;
    case PERF_UCX_PERFTEST:
        return parse_ucx(trips, test, output, value_p);
    default:
        return parse_hg(test, size, output, value_p);
    }
}
