/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder per case, and the core's log lines. */
#include "fixture.h"

#include "base/log.h"

#include <check.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[1024];
static char folder[PATH_MAX];

static char log_text[65536];
static size_t log_length;

static void
die(const char *what)
{
    fprintf(stderr, "fixture: %s: %s\n", what, strerror(errno));
    abort();
}

void
fixture_setup(void)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(top, sizeof top, "%s/talaria-test-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(top))
        die(top);
}

static int
remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

void
fixture_teardown(void)
{
    nftw(top, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static int __attribute__((format(printf, 2, 3)))
collect(FILE *stream, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(
        log_text + log_length, sizeof log_text - log_length, format, args);
    va_end(args);
    log_length += (size_t) length;
    if (log_length >= sizeof log_text)
        die("more was logged than is kept");
    return length;
}

void
fixture_begin(void)
{
    char real[PATH_MAX];

    umask(022);
    snprintf(real, sizeof real, "%s/XXXXXX", top);
    if (!mkdtemp(real) || !realpath(real, folder))
        die(real);
    unsetenv("TALARIA_PLUGIN_FILES");
    unsetenv("TALARIA_PLUGIN_PATH");
    fixture_log_clear();
    base_log_init();
    base_log_set_level("debug");
    base_log_set_subsys("all");
    base_log_set_func(collect);
}

const char *
fixture_path(const char *format, ...)
{
    static char paths[16][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 16];
    va_list args;
    int length = snprintf(path, PATH_MAX, "%s/", folder);

    va_start(args, format);
    vsnprintf(path + length, (size_t) (PATH_MAX - length), format, args);
    va_end(args);
    return path;
}

const char *
fixture_mkdir(const char *path)
{
    path = fixture_path("%s", path);
    if (mkdir(path, 0755) != 0)
        die(path);
    return path;
}

static const char *
write_bytes(const char *path, const void *bytes, size_t length)
{
    FILE *file;

    path = fixture_path("%s", path);
    file = fopen(path, "we");
    if (!file || fwrite(bytes, 1, length, file) != length || fclose(file) != 0)
        die(path);
    return path;
}

const char *
fixture_write(const char *path, const char *text)
{
    return write_bytes(path, text, strlen(text));
}

const char *
fixture_variant(const char *variant)
{
    static char path[PATH_MAX];
    const char *built = getenv("TALARIA_TEST_PLUGINS");

    if (!built)
        die("TALARIA_TEST_PLUGINS names no folder");
    snprintf(path, sizeof path, "%s/probe_%s.so", built, variant);
    return path;
}

const char *
fixture_copy(const char *path, const char *variant)
{
    const char *source = fixture_variant(variant);
    FILE *file = fopen(source, "re");
    struct stat st;
    char *bytes;

    if (!file || fstat(fileno(file), &st) != 0)
        die(source);
    bytes = malloc((size_t) st.st_size);
    if (!bytes || fread(bytes, (size_t) st.st_size, 1, file) != 1)
        die(source);
    fclose(file);
    path = write_bytes(path, bytes, (size_t) st.st_size);
    free(bytes);
    return path;
}

const char *
fixture_manifest(const char *path, const char *library, const char *name,
    const char *protocols, int priority)
{
    char text[2048];

    snprintf(text, sizeof text,
        "{\"format\": \"1.0\", \"plugin\": {\"name\": \"%s\", "
        "\"version\": \"1.2.3\", \"library_path\": \"%s\", "
        "\"abi\": {\"major\": 1, \"minor\": 0, \"min_host_minor\": 0}, "
        "\"protocols\": %s, \"priority\": %d}}\n",
        name, library, protocols, priority);
    return fixture_write(path, text);
}

size_t
fixture_log_count(const char *level)
{
    char mark[32];
    size_t count = 0;

    snprintf(mark, sizeof mark, " [%s] ", level);
    for (const char *p = log_text; (p = strstr(p, mark)); p++)
        count++;
    return count;
}

const char *
fixture_log(void)
{
    return log_text;
}

bool
fixture_logged(const char *text)
{
    return strstr(log_text, text) != NULL;
}

void
fixture_log_clear(void)
{
    log_length = 0;
    log_text[0] = '\0';
}

void
fixture_ck_candidate(size_t index, const char *path, const char *plugin,
    enum talaria_stage stage, na_return_t code)
{
    struct talaria_open_result *result;
    const struct talaria_candidate *candidate;

    ck_assert_int_eq(talaria_open_report(&result), NA_SUCCESS);
    ck_assert_uint_lt(index, result->count);
    candidate = result->candidates[index];
    if (path)
        ck_assert_str_eq(candidate->path, path);
    else
        ck_assert_ptr_null(candidate->path);
    if (plugin)
        ck_assert_str_eq(candidate->plugin, plugin);
    else
        ck_assert_ptr_null(candidate->plugin);
    ck_assert_str_eq(talaria_stage_to_string(candidate->stage),
        talaria_stage_to_string(stage));
    ck_assert_int_eq(candidate->code, code);
    talaria_open_report_free(result);
}
