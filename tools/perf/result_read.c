/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads results from files. The type and range of each value is checked; the
 * error message has the path of the first invalid value. */
#include "perf/result_json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf/failure.h"

/* Bytes of a string, at most. */
#define TEXT_MAX 65536U

/* The position in the file. `wrong` is set by the first error; nothing is read
 * after it. */
struct reader {
    const char *path;
    bool wrong;
    char where[64]; /* "points[3].rounds[1]." */
};

static void __attribute__((format(printf, 2, 3)))
refuse(struct reader *reader, const char *format, ...)
{
    char words[400], shown[400];
    va_list arguments;

    if (reader->wrong)
        return;
    reader->wrong = true;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    /* The message may contain text of the file. */
    perf_text_copy(shown, sizeof shown, words, strlen(words));
    fprintf(stderr, "talaria perf: %s: %s\n", reader->path, shown);
}

/* Returns a required field, or NULL after an error. */
static const json_t *
field(struct reader *reader, const json_t *object, const char *name)
{
    const json_t *value;

    if (reader->wrong)
        return NULL;
    value = json_object_get(object, name);
    if (!value)
        refuse(reader, "%s%s is missing", reader->where, name);
    return value;
}

static const json_t *
container(struct reader *reader, const json_t *object, const char *name,
    json_type type)
{
    const json_t *value = field(reader, object, name);

    if (value && json_typeof(value) != type) {
        refuse(reader, "%s%s is not %s", reader->where, name,
            type == JSON_ARRAY ? "an array" : "an object");
        return NULL;
    }
    return value;
}

static uint64_t
read_whole(struct reader *reader, const json_t *object, const char *name,
    uint64_t least, uint64_t most)
{
    const json_t *value = field(reader, object, name);

    if (!value)
        return 0;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t) json_integer_value(value) < least ||
        (uint64_t) json_integer_value(value) > most) {
        refuse(reader,
            "%s%s is not a whole number from %" PRIu64 " to %" PRIu64,
            reader->where, name, least, most);
        return 0;
    }
    return (uint64_t) json_integer_value(value);
}

/* Reads a number of at least 0. null is NaN, unless `needed`. */
static double
read_real(
    struct reader *reader, const json_t *object, const char *name, bool needed)
{
    const json_t *value = field(reader, object, name);
    double number;

    if (!value || (!needed && json_is_null(value)))
        return (double) NAN;
    number = json_number_value(value);
    if (!json_is_number(value) || !isfinite(number) || number < 0) {
        refuse(reader, "%s%s is not a number of at least 0%s", reader->where,
            name, needed ? "" : " or null");
        return (double) NAN;
    }
    return number;
}

static bool
read_flag(struct reader *reader, const json_t *object, const char *name)
{
    const json_t *value = field(reader, object, name);

    if (value && !json_is_boolean(value))
        refuse(reader, "%s%s is neither true nor false", reader->where, name);
    return json_is_true(value);
}

/* Returns a copy of a string. NULL: null, unless `needed`, or after an
 * error. */
static char *
read_text(
    struct reader *reader, const json_t *object, const char *name, bool needed)
{
    const json_t *value = field(reader, object, name);
    char *copy;

    if (!value || (!needed && json_is_null(value)))
        return NULL;
    /* jansson refuses \u0000 in strings. */
    if (!json_is_string(value) || json_string_length(value) > TEXT_MAX) {
        refuse(reader, "%s%s is not a string of at most %u bytes%s",
            reader->where, name, TEXT_MAX, needed ? "" : " or null");
        return NULL;
    }
    copy = strdup(json_string_value(value));
    if (!copy)
        refuse(reader, "out of memory");
    return copy;
}

/* Returns the index of a name. */
static int
read_name(struct reader *reader, const json_t *object, const char *name,
    const char *(*name_of)(int), int count)
{
    const json_t *value = field(reader, object, name);
    const char *text = json_string_value(value);

    for (int i = 0; text && i < count; i++)
        if (strcmp(text, name_of(i)) == 0)
            return i;
    refuse(reader, "%s%s is unknown: \"%.40s\"", reader->where, name,
        text ? text : "");
    return 0;
}

static const char *
test_name_of(int test)
{
    return perf_test_name((enum perf_test) test);
}

static const char *
level_name_of(int level)
{
    return perf_level_name((enum perf_level) level);
}

static double
read_in_unit(struct reader *reader, const json_t *object, const char *name,
    enum perf_test test, bool needed)
{
    char text[PERF_JSON_NAME];

    snprintf(text, sizeof text, "%s_%s", name, perf_json_unit(test));
    return read_real(reader, object, text, needed);
}

static void
read_round(
    struct reader *reader, const json_t *object, struct perf_point *point)
{
    struct perf_round round = {0};
    const json_t *quantiles;

    if (!json_is_object(object)) {
        refuse(reader, "%.*s is not an object", (int) strlen(reader->where) - 1,
            reader->where);
        return;
    }
    round.value = read_in_unit(reader, object, "value", point->test, true);
    round.peer_value =
        read_in_unit(reader, object, "peer_value", point->test, false);
    round.operations = read_whole(reader, object, "operations", 0, INT64_MAX);
    round.elapsed_ns = read_whole(reader, object, "elapsed_ns", 0, INT64_MAX);
    round.origin_cpu_ns =
        read_whole(reader, object, "origin_cpu_ns", 0, INT64_MAX);
    round.target_cpu_ns =
        read_whole(reader, object, "target_cpu_ns", 0, INT64_MAX);
    round.gauge_ns = read_real(reader, object, "gauge_ns", false);
    round.slow = read_flag(reader, object, "slow");
    quantiles = container(reader, object, "operation_quantiles", JSON_OBJECT);
    for (int i = 0; i < PERF_QUANTILES; i++)
        round.quantiles_ns[i] =
            read_real(reader, quantiles, perf_json_quantiles[i], false);
    if (!reader->wrong && !perf_point_add(point, &round))
        refuse(reader, "out of memory");
}

static void
read_point(struct reader *reader, size_t index, const json_t *object,
    struct perf_result *result)
{
    struct perf_point *point;
    const json_t *rounds;
    enum perf_test test;
    uint64_t size;

    snprintf(reader->where, sizeof reader->where, "points[%zu].", index);
    if (!json_is_object(object)) {
        refuse(reader, "points[%zu] is not an object", index);
        return;
    }
    test = (enum perf_test) read_name(
        reader, object, "test", test_name_of, PERF_TESTS);
    size = read_whole(reader, object, "size_bytes", 0, INT64_MAX);
    rounds = container(reader, object, "rounds", JSON_ARRAY);
    if (reader->wrong)
        return;
    point = perf_result_add(result, test, size);
    if (!point) {
        refuse(reader, "out of memory");
        return;
    }
    point->instructions =
        read_real(reader, object, "instructions_per_operation", false);
    if (json_array_size(rounds) == 0)
        refuse(reader, "%srounds is empty", reader->where);
    for (size_t i = 0; i < json_array_size(rounds) && !reader->wrong; i++) {
        snprintf(reader->where, sizeof reader->where,
            "points[%zu].rounds[%zu].", index, i);
        read_round(reader, json_array_get(rounds, i), point);
    }
}

/* Reads a processor number; null is -1. */
static int32_t
read_processor(struct reader *reader, const json_t *object, const char *name)
{
    const json_t *value = field(reader, object, name);

    if (!value || json_is_null(value))
        return -1;
    return (int32_t) read_whole(reader, object, name, 0, INT32_MAX);
}

static void
read_settings(
    struct reader *reader, const json_t *object, struct perf_settings *settings)
{
    snprintf(reader->where, sizeof reader->where, "settings.");
    settings->level = (enum perf_level) read_name(
        reader, object, "level", level_name_of, PERF_LEVELS);
    settings->info = read_text(reader, object, "info", true);
    settings->label = read_text(reader, object, "label", false);
    settings->against = read_text(reader, object, "against", false);
    settings->local = read_flag(reader, object, "local");
    settings->busy = read_flag(reader, object, "busy");
    settings->single = read_flag(reader, object, "single_thread");
    settings->verify = read_flag(reader, object, "verify");
    /* Since 1.1. */
    if (json_object_get(object, "progress_thread"))
        settings->progress_thread =
            read_flag(reader, object, "progress_thread");
    /* Since 1.3. */
    if (json_object_get(object, "mem_alloc"))
        settings->mem_alloc = read_flag(reader, object, "mem_alloc");
    settings->inflight =
        (uint32_t) read_whole(reader, object, "in_flight", 1, UINT32_MAX);
    settings->threads =
        (uint32_t) read_whole(reader, object, "threads", 1, UINT32_MAX);
    settings->contexts =
        (uint32_t) read_whole(reader, object, "contexts", 1, UINT32_MAX);
    settings->classes =
        (uint32_t) read_whole(reader, object, "classes", 1, UINT32_MAX);
    settings->clients =
        (uint32_t) read_whole(reader, object, "clients", 1, UINT32_MAX);
    /* Since 1.2. */
    settings->segments = 1;
    if (json_object_get(object, "segments"))
        settings->segments =
            (uint32_t) read_whole(reader, object, "segments", 1, UINT32_MAX);
    settings->rounds =
        (uint32_t) read_whole(reader, object, "rounds", 1, UINT32_MAX);
    settings->warm_up =
        read_whole(reader, object, "warm_up_operations", 0, INT64_MAX);
    settings->operations =
        read_whole(reader, object, "round_operations", 0, INT64_MAX);
    settings->round_ns =
        read_whole(reader, object, "round_duration_ns", 0, INT64_MAX);
    settings->origin_cpu = read_processor(reader, object, "origin_processor");
    settings->target_cpu = read_processor(reader, object, "target_processor");
}

/* Checks "MAJOR.MINOR"; a newer major version is refused. */
static void
check_format(struct reader *reader, const json_t *root)
{
    const char *text = json_string_value(field(reader, root, "format"));
    size_t major = text ? strspn(text, "0123456789") : 0, minor = 0;

    if (reader->wrong)
        return;
    if (major > 0 && text[major] == '.')
        minor = strspn(text + major + 1, "0123456789");
    if (major > 4 || minor == 0 || text[major + 1 + minor] != '\0')
        refuse(reader, "format is not MAJOR.MINOR");
    else if (strtoul(text, NULL, 10) != PERF_JSON_MAJOR)
        refuse(reader, "its format is %s, this program reads %d", text,
            PERF_JSON_MAJOR);
}

static void
read_root(struct reader *reader, const json_t *root, struct perf_result *result)
{
    const json_t *machine, *settings, *points;

    if (!json_is_object(root)) {
        refuse(reader, "is not an object");
        return;
    }
    check_format(reader, root);
    result->version = read_text(reader, root, "talaria_version", true);
    result->date = read_text(reader, root, "date_utc", true);
    machine = container(reader, root, "machine", JSON_OBJECT);
    snprintf(reader->where, sizeof reader->where, "machine.");
    result->host = read_text(reader, machine, "host", true);
    result->kernel = read_text(reader, machine, "kernel", true);
    result->cpu = read_text(reader, machine, "processor", true);
    result->cpus =
        (uint32_t) read_whole(reader, machine, "processors", 1, UINT32_MAX);
    reader->where[0] = '\0';
    settings = container(reader, root, "settings", JSON_OBJECT);
    read_settings(reader, settings, &result->settings);
    reader->where[0] = '\0';
    points = container(reader, root, "points", JSON_ARRAY);
    if (points && json_array_size(points) == 0)
        refuse(reader, "points is empty");
    for (size_t i = 0; i < json_array_size(points) && !reader->wrong; i++)
        read_point(reader, i, json_array_get(points, i), result);
}

/* The input of the parser, and its remaining size. */
struct source {
    int fd;
    int error;
    size_t left;
};

static size_t
read_some(void *buffer, size_t length, void *data)
{
    struct source *source = data;
    ssize_t got;

    if (length > source->left)
        length = source->left;
    if (length == 0) {
        source->error = EFBIG;
        return (size_t) -1;
    }
    do
        got = read(source->fd, buffer, length);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        source->error = errno;
        return (size_t) -1;
    }
    source->left -= (size_t) got;
    return (size_t) got;
}

bool
perf_read_json(const char *path, struct perf_result *result_p)
{
    struct reader reader = {.path = path};
    struct source source = {.left = PERF_JSON_SIZE_MAX};
    struct perf_result result = {0};
    json_error_t error;
    json_t *root;

    source.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (source.fd < 0) {
        refuse(&reader, "%s", strerror(errno));
        return false;
    }
    root =
        json_load_callback(read_some, &source, JSON_REJECT_DUPLICATES, &error);
    close(source.fd);
    if (source.error)
        refuse(&reader, "%s", strerror(source.error));
    else if (!root)
        refuse(&reader, "line %d: %s", error.line, error.text);
    else
        read_root(&reader, root, &result);
    json_decref(root);
    if (reader.wrong) {
        perf_result_finish(&result);
        return false;
    }
    *result_p = result;
    return true;
}
