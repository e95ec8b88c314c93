/* SPDX-License-Identifier: BSD-3-Clause */
/* The log: filtering by level and subsystem, outputs, and that lines of several
 * threads stay whole. */
#include "base/log.h"
#include "runner.h"

#include <check.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *const levels[] = {
    "none", "error", "warning", "info", "debug"};
static const char *const subsystems[BASE_LOG_SUBSYS_MAX] = {
    "plugin", "transport", "na", "hg", "bulk", "proc"};

static char text[8192];
static size_t length;
static uint32_t lines;
static FILE *last_stream;

static int __attribute__((format(printf, 2, 3)))
collect(FILE *stream, const char *format, ...)
{
    va_list args;
    int added;

    va_start(args, format);
    added = vsnprintf(text + length, sizeof text - length, format, args);
    va_end(args);
    length += (size_t) added;
    ck_assert_uint_lt(length, sizeof text);
    lines++;
    last_stream = stream;
    return added;
}

static void
begin(void)
{
    unsetenv("HG_LOG_LEVEL");
    unsetenv("HG_LOG_SUBSYS");
    length = 0;
    lines = 0;
    text[0] = '\0';
    base_log_set_level("debug");
    base_log_set_subsys("all");
    base_log_set_func(collect);
    for (int i = BASE_LOG_ERROR; i <= BASE_LOG_DEBUG; i++)
        base_log_set_stream(levels[i], NULL);
}

/* One bit per subsystem that logs at this level. */
static uint32_t
let_through(int32_t level)
{
    uint32_t through = 0;

    for (int i = 0; i < BASE_LOG_SUBSYS_MAX; i++) {
        uint32_t before = lines;

        BASE_LOG((enum base_log_subsys) i, level, "line");
        through |= (uint32_t) (lines - before) << i;
    }
    return through;
}

#define ALL ((1U << BASE_LOG_SUBSYS_MAX) - 1)
#define HG (1U << BASE_LOG_HG)
#define NA (1U << BASE_LOG_NA)
#define BULK (1U << BASE_LOG_BULK)

/* The rest of a line after time, host, process and thread, which are
 * checked. */
static const char *
behind_origin(const char *line)
{
    char host[256], name[65] = "";
    unsigned year, month, day, hour, minute, second, micros;
    struct tm date = {0};
    long pid, tid;
    int end = 0;
    struct timespec now;

    /* Not time(), whose clock is up to a tick behind that of the log. */
    ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &now), 0);
    ck_assert_int_eq(
        sscanf(line, "# talaria %4u-%2u-%2uT%2u:%2u:%2u.%6uZ %255s %ld/%ld %n",
            &year, &month, &day, &hour, &minute, &second, &micros, host, &pid,
            &tid, &end),
        10);
    date = (struct tm){.tm_year = (int) year - 1900,
        .tm_mon = (int) month - 1,
        .tm_mday = (int) day,
        .tm_hour = (int) hour,
        .tm_min = (int) minute,
        .tm_sec = (int) second};
    ck_assert_int_le(timegm(&date), now.tv_sec);
    ck_assert_int_ge(timegm(&date), now.tv_sec - 600);
    gethostname(name, sizeof name - 1);
    ck_assert_str_eq(host, name);
    ck_assert_int_eq(pid, getpid());
    ck_assert_int_gt(tid, 0);
    return line + end;
}

START_TEST(log_line_names_its_thread)
{
    LOG_ERROR(HG, "x");
    ck_assert_ptr_nonnull(strstr(text, " hg: test_log.c:"));
    behind_origin(text);
    ck_assert_int_eq(
        atol(strchr(strchr(text, '/'), '/') + 1), syscall(SYS_gettid));
}
END_TEST

/* A line that a peer can cause at will. */
START_TEST(log_line_a_peer_can_cause_is_thinned_and_counted)
{
    uint32_t due = 0;

    for (unsigned i = 1; i <= 4096; i++) {
        length = 0;
        LOG_THINNED(HG, WARNING, "message %u", i);
        if (lines == due)
            continue;
        due++;
        if (i > BASE_LOG_FIRST)
            ck_assert_uint_eq(i & (i - 1), 0);
        if (i == 1)
            ck_assert_ptr_nonnull(strstr(text, ": message 1\n"));
        if (i == 4096)
            ck_assert_ptr_nonnull(
                strstr(text, ": message 4096 (4096 so far)\n"));
    }
    ck_assert_uint_eq(due, BASE_LOG_FIRST + 6); /* 128 to 4,096 */
    base_log_set_level("error");
    LOG_THINNED(HG, WARNING, "%s", "not wanted");
    ck_assert_uint_eq(lines, due);
}
END_TEST

static unsigned changes;

static void
level_changed(void)
{
    changes++;
}

START_TEST(log_level_changes_are_notified)
{
    base_log_on_level(level_changed);
    ck_assert(base_log_set_level("info"));
    ck_assert_uint_eq(changes, 1);
    ck_assert(!base_log_set_level("loud"));
    ck_assert_uint_eq(changes, 1);
    base_log_on_level(NULL);
    ck_assert(base_log_set_level("debug"));
    ck_assert_uint_eq(changes, 1);
}
END_TEST

START_TEST(log_line_has_level_subsystem_place_and_text)
{
    base_log_write(
        BASE_LOG_HG, BASE_LOG_WARNING, "a/b/c.c", 42, "%d of %s", 7, "it");
    ck_assert_str_eq(behind_origin(text), "[warning] hg: c.c:42: 7 of it\n");
    length = 0;
    base_log_text(BASE_LOG_TRANSPORT, BASE_LOG_ERROR, "c.c", 1, "100% %s");
    ck_assert_str_eq(
        behind_origin(text), "[error] transport: c.c:1: 100% %s\n");
    for (int i = 0; i < BASE_LOG_SUBSYS_MAX; i++) {
        char wanted[64];

        length = 0;
        snprintf(wanted, sizeof wanted, "[info] %s: f:2: x\n", subsystems[i]);
        base_log_text((enum base_log_subsys) i, BASE_LOG_INFO, "f", 2, "x");
        ck_assert_str_eq(behind_origin(text), wanted);
    }
}
END_TEST

START_TEST(log_text_too_long_is_truncated)
{
    char *much = calloc(1, 5000);

    ck_assert_ptr_nonnull(much);
    memset(much, 'x', 4999);
    LOG_ERROR(NA, "%s", much);
    free(much);
    ck_assert_uint_eq(lines, 1);
    ck_assert_uint_lt(length, 1200);
    ck_assert_str_eq(text + length - 3, "xx\n");
}
END_TEST

START_TEST(level_filters_messages_above_it)
{
    for (int set = BASE_LOG_NONE; set <= BASE_LOG_DEBUG; set++) {
        ck_assert(base_log_set_level(levels[set]));
        for (int level = BASE_LOG_ERROR; level <= BASE_LOG_DEBUG; level++) {
            ck_assert(base_log_wanted(level) == (level <= set));
            ck_assert_uint_eq(let_through(level), level <= set ? ALL : 0);
        }
    }
}
END_TEST

START_TEST(level_accepts_mercurys_other_names)
{
    static const struct {
        const char *name;
        int32_t level;
    } others[] = {{"fatal", BASE_LOG_ERROR}, {"err", BASE_LOG_ERROR},
        {"warn", BASE_LOG_WARNING}, {"min_debug", BASE_LOG_INFO}};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert(base_log_set_level("none"));
        ck_assert(base_log_set_level(others[i].name));
        ck_assert(base_log_wanted(others[i].level));
        ck_assert(!base_log_wanted(others[i].level + 1));
    }
}
END_TEST

START_TEST(level_unknown_changes_nothing)
{
    static const char *const unknown[] = {
        "", "Error", "warns", "debug ", "5", "errors"};

    base_log_set_level("warning");
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        ck_assert(!base_log_set_level(unknown[i]));
        ck_assert(base_log_wanted(BASE_LOG_WARNING));
        ck_assert(!base_log_wanted(BASE_LOG_INFO));
    }
    ck_assert(!base_log_set_level(NULL));
}
END_TEST

/* A plugin passes the level as a number. */
START_TEST(level_out_of_range_is_not_written)
{
    base_log_text(BASE_LOG_TRANSPORT, BASE_LOG_NONE, "f", 1, "x");
    base_log_text(BASE_LOG_TRANSPORT, BASE_LOG_DEBUG + 1, "f", 1, "x");
    base_log_text(BASE_LOG_TRANSPORT, -1, "f", 1, "x");
    base_log_text(BASE_LOG_TRANSPORT, INT32_MIN, "f", 1, "x");
    base_log_text(BASE_LOG_TRANSPORT, INT32_MAX, "f", 1, "x");
    ck_assert_uint_eq(lines, 0);
}
END_TEST

static const struct {
    const char *names;
    uint32_t through;
} subsystem_lists[] = {
    {"all", ALL},
    {"", ALL},
    {NULL, ALL},
    {"hg", HG},
    {"hg,na", HG | NA},
    {"na,hg,na", HG | NA},
    {"~hg", ALL & ~HG},
    {"~hg,~na", ALL & ~(HG | NA)},
    {"hg,~na", HG},
    {"hg,na,~na", HG},
    {"~na,all", ALL & ~NA},
    {"all,~bulk", ALL & ~BULK},
    {"~all", 0},
    {"hg,~hg", 0},
    {"fatal", ALL}, /* Mercury's names of subsystems that do not exist here */
    {"fatal,hg", HG},
    {"~fatal", ALL},
    {"~poll_loop,~hg", ALL & ~HG},
    {"hgx,nah,h", ALL},
    {"HG", ALL},
    {"~", ALL},
    {",,hg,,", HG},
    {"~~hg", ALL},
};

START_TEST(subsystems_named_log_others_only_errors)
{
    base_log_set_subsys(subsystem_lists[_i].names);
    for (int level = BASE_LOG_WARNING; level <= BASE_LOG_DEBUG; level++)
        ck_assert_uint_eq(let_through(level), subsystem_lists[_i].through);
    ck_assert_uint_eq(let_through(BASE_LOG_ERROR), ALL);
    /* A new list replaces the old one. */
    base_log_set_subsys("bulk");
    ck_assert_uint_eq(let_through(BASE_LOG_INFO), BULK);
}
END_TEST

START_TEST(environment_is_read_once)
{
    setenv("HG_LOG_LEVEL", "info", 1);
    setenv("HG_LOG_SUBSYS", "na", 1);
    base_log_init();
    ck_assert_uint_eq(let_through(BASE_LOG_INFO), NA);
    ck_assert_uint_eq(let_through(BASE_LOG_DEBUG), 0);
    setenv("HG_LOG_LEVEL", "debug", 1);
    base_log_init();
    ck_assert_uint_eq(let_through(BASE_LOG_DEBUG), 0);
}
END_TEST

START_TEST(environment_of_unknown_level_says_so)
{
    base_log_set_level("warning");
    setenv("HG_LOG_LEVEL", "loud", 1);
    base_log_init();
    ck_assert_uint_eq(lines, 1);
    ck_assert_ptr_nonnull(strstr(text, "[error]"));
    ck_assert_ptr_nonnull(strstr(text, "HG_LOG_LEVEL is \"loud\""));
    ck_assert(base_log_wanted(BASE_LOG_WARNING));
    ck_assert(!base_log_wanted(BASE_LOG_INFO));
}
END_TEST

START_TEST(stream_is_set_per_level)
{
    FILE *stream = tmpfile();

    ck_assert_ptr_nonnull(stream);
    base_log_set_stream("info", stream);
    LOG_INFO(HG, "x");
    ck_assert_ptr_eq(last_stream, stream);
    LOG_WARNING(HG, "x");
    ck_assert_ptr_eq(last_stream, stderr);
    base_log_set_stream("loud", stream);
    base_log_set_stream(NULL, stream);
    LOG_DEBUG(HG, "x");
    ck_assert_ptr_eq(last_stream, stderr);
    base_log_set_stream("info", NULL);
    LOG_INFO(HG, "x");
    ck_assert_ptr_eq(last_stream, stderr);
    fclose(stream);
}
END_TEST

START_TEST(func_null_writes_to_stream)
{
    FILE *stream = tmpfile();
    char line[128];

    ck_assert_ptr_nonnull(stream);
    base_log_set_stream("debug", stream);
    base_log_set_func(NULL);
    base_log_write(BASE_LOG_BULK, BASE_LOG_DEBUG, "f.c", 3, "%s", "there");
    ck_assert_uint_eq(lines, 0);
    rewind(stream);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, stream));
    ck_assert_str_eq(behind_origin(line), "[debug] bulk: f.c:3: there\n");
    ck_assert_ptr_null(fgets(line, sizeof line, stream));
    base_log_set_func(collect);
    LOG_DEBUG(HG, "x");
    ck_assert_uint_eq(lines, 1);
    fclose(stream);
}
END_TEST

/* Lines of several threads, written to either of two streams or a function,
 * whichever is set at that moment. */
#define WRITERS 3U
#define LINES 3000U

static _Atomic uint32_t finished;
static uint32_t by_func; /* under the log's own lock */

static int
count_line(FILE *stream, const char *format, ...)
{
    by_func++;
    return 0;
}

static void *
write_lines(void *arg)
{
    for (uint32_t i = 0; i < LINES; i++)
        LOG_ERROR(NA, "thread %c line %u end", *(const char *) arg, i);
    /* Release pairs with the acquire in redirect. */
    atomic_fetch_add_explicit(&finished, 1, memory_order_release);
    return NULL;
}

static void
redirect(FILE *const *streams)
{
    for (unsigned i = 0;
         atomic_load_explicit(&finished, memory_order_acquire) < WRITERS; i++) {
        base_log_set_stream("error", streams[i % 2]);
        base_log_set_func(i % 3 ? NULL : count_line);
        base_log_set_level(i % 2 ? "error" : "debug");
        base_log_set_subsys(i % 2 ? "hg" : "~hg");
    }
}

/* Counts the lines of a stream, all of which must be whole. */
static uint32_t
count_whole(FILE *stream)
{
    char line[256];
    uint32_t count = 0;

    rewind(stream);
    for (; fgets(line, sizeof line, stream); count++) {
        const char *end = strstr(line, " end\n");
        const char *thread = strstr(line, ": thread ");

        ck_assert_msg(
            strncmp(behind_origin(line), "[error] na: test_log.c:", 23) == 0 &&
                thread && end && end[5] == '\0' &&
                !strstr(thread + 9, "thread"),
            "line %u: %s", count, line);
    }
    return count;
}

START_TEST(log_in_threads_keeps_lines_whole)
{
    static const char names[WRITERS] = {'a', 'b', 'c'};
    FILE *streams[2] = {tmpfile(), tmpfile()};
    pthread_t threads[WRITERS];

    ck_assert(streams[0] && streams[1]);
    base_log_set_func(NULL);
    base_log_set_stream("error", streams[0]);
    for (uint32_t i = 0; i < WRITERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_lines,
                             (void *) (uintptr_t) &names[i]),
            0);
    redirect(streams);
    for (uint32_t i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(
        by_func + count_whole(streams[0]) + count_whole(streams[1]),
        WRITERS * LINES);
    begin();
    fclose(streams[0]);
    fclose(streams[1]);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("log");

    tcase_add_checked_fixture(tcase, begin, NULL);
    tcase_add_test(tcase, log_line_has_level_subsystem_place_and_text);
    tcase_add_test(tcase, log_line_names_its_thread);
    tcase_add_test(tcase, log_line_a_peer_can_cause_is_thinned_and_counted);
    tcase_add_test(tcase, log_level_changes_are_notified);
    tcase_add_test(tcase, log_text_too_long_is_truncated);
    tcase_add_test(tcase, level_filters_messages_above_it);
    tcase_add_test(tcase, level_accepts_mercurys_other_names);
    tcase_add_test(tcase, level_unknown_changes_nothing);
    tcase_add_test(tcase, level_out_of_range_is_not_written);
    tcase_add_loop_test(tcase, subsystems_named_log_others_only_errors, 0,
        sizeof subsystem_lists / sizeof subsystem_lists[0]);
    tcase_add_test(tcase, environment_is_read_once);
    tcase_add_test(tcase, environment_of_unknown_level_says_so);
    tcase_add_test(tcase, stream_is_set_per_level);
    tcase_add_test(tcase, func_null_writes_to_stream);
    tcase_add_test(tcase, log_in_threads_keeps_lines_whole);
    return run_tcase("log", tcase);
}
