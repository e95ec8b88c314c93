/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects log lines of all processes of a test in shared memory. */
#include "log_watch.h"

#include "mercury.h"

#include <check.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINES 1024U
#define LINE_SIZE 512U
#define EXPECTED_MAX 16U

struct line {
    _Atomic bool written;
    char text[LINE_SIZE];
};

struct lines {
    _Atomic uint32_t count;
    struct line lines[LINES];
};

static struct lines *watched;
static struct {
    const char *text;
    uint32_t min, max;
} expected[EXPECTED_MAX];
static uint32_t expected_count;

void
log_watch_begin(void)
{
    if (!watched) {
        watched = mmap(NULL, sizeof *watched, PROT_READ | PROT_WRITE,
            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (watched == MAP_FAILED)
            abort();
    }
    memset(watched, 0, sizeof *watched);
    expected_count = 0;
}

static int collect(FILE *stream, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int
collect(FILE *stream, const char *format, ...)
{
    uint32_t i =
        atomic_fetch_add_explicit(&watched->count, 1, memory_order_relaxed);
    va_list args;
    int length;

    if (i >= LINES)
        return 0;
    va_start(args, format);
    length = vsnprintf(watched->lines[i].text, LINE_SIZE, format, args);
    va_end(args);
    /* Release pairs with the acquire in next_line. */
    atomic_store_explicit(
        &watched->lines[i].written, true, memory_order_release);
    return length;
}

void
log_watch_install(void)
{
    HG_Set_log_func(collect);
    HG_Set_log_subsys("all");
    HG_Set_log_level("warning");
}

void
log_expect(const char *text, uint32_t min, uint32_t max)
{
    ck_assert_uint_lt(expected_count, EXPECTED_MAX);
    expected[expected_count].text = text;
    expected[expected_count].min = min;
    expected[expected_count++].max = max;
}

/* Text of a line; NULL if its process died while writing it. */
static const char *
line_at(uint32_t i)
{
    /* Acquire pairs with the release in collect. */
    return atomic_load_explicit(
               &watched->lines[i].written, memory_order_acquire)
               ? watched->lines[i].text
               : NULL;
}

static uint32_t
line_count(void)
{
    uint32_t count =
        atomic_load_explicit(&watched->count, memory_order_relaxed);

    return count < LINES ? count : LINES;
}

uint32_t
log_count(const char *text)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < line_count(); i++)
        found += line_at(i) && strstr(line_at(i), text) != NULL;
    return found;
}

const char *
log_line(const char *text)
{
    for (uint32_t i = 0; i < line_count(); i++)
        if (line_at(i) && strstr(line_at(i), text))
            return line_at(i);
    return NULL;
}

static bool
announced(const char *line)
{
    for (uint32_t i = 0; i < expected_count; i++)
        if (strstr(line, expected[i].text))
            return true;
    return false;
}

void
log_watch_check(void)
{
    ck_assert_msg(
        atomic_load_explicit(&watched->count, memory_order_relaxed) <= LINES,
        "more lines were logged than can be kept");
    for (uint32_t i = 0; i < line_count(); i++)
        ck_assert_msg(!line_at(i) || announced(line_at(i)),
            "unexpected line: %s", line_at(i));
    for (uint32_t i = 0; i < expected_count; i++) {
        uint32_t found = log_count(expected[i].text);

        ck_assert_msg(found >= expected[i].min && found <= expected[i].max,
            "\"%s\" was logged %u times, expected %u to %u", expected[i].text,
            found, expected[i].min, expected[i].max);
    }
}
