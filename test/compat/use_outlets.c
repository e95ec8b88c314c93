/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with log outlets of its own, and one that opens shared objects, in
 * C and, through use_outlets.cc, in C++. Exit status 0, or 1 and a line per
 * failure. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "mercury_dl.h"
#include "mercury_log.h"
#include "mercury_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int wrong;

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            printf("%s:%d: not %s\n", __FILE__, __LINE__, #condition);         \
            wrong++;                                                           \
        }                                                                      \
    } while (0)

extern HG_PRIVATE HG_LOG_OUTLET_DECL(mine);
HG_LOG_DECL_REGISTER(mine);
HG_LOG_SUBSYS_DECL_REGISTER(part, mine);
HG_LOG_SUBSYS_DECL_STATE_REGISTER(off, mine, HG_LOG_OFF);
HG_LOG_SUBSYS_DECL_STATE_REGISTER(on, mine, HG_LOG_ON);
/* Registered explicitly. */
static HG_LOG_OUTLET_DECL(late) = HG_LOG_OUTLET_INITIALIZER(
    late, HG_LOG_PASS, NULL, NULL);

static char output[8192];
static FILE *logged_to;

static int HG_ATTR_PRINTF(2, 3) listen_to(FILE *stream, const char *format, ...)
{
    size_t used = strlen(output);
    va_list ap;

    logged_to = stream;
    va_start(ap, format);
    (void) vsnprintf(output + used, sizeof output - used, format, ap);
    va_end(ap);
    return 0;
}

/* Log output since the last call. */
static bool
logged(const char *text)
{
    bool same = strcmp(output, text) == 0;

    if (!same)
        printf("got '%s' instead of '%s'\n", output, text);
    output[0] = '\0';
    return same;
}

static bool
levels(enum hg_log_level of_mine, enum hg_log_level of_part,
    enum hg_log_level of_off, enum hg_log_level of_on)
{
    return HG_LOG_OUTLET(mine).level == of_mine &&
           HG_LOG_OUTLET(mine_part).level == of_part &&
           HG_LOG_OUTLET(mine_off).level == of_off &&
           HG_LOG_OUTLET(mine_on).level == of_on;
}

static void
use_levels(void)
{
    const enum hg_log_level none = HG_LOG_LEVEL_NONE,
                            all = HG_LOG_LEVEL_WARNING;

    CHECK(strcmp(hg_log_get_subsys(), "hg_all") == 0);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    CHECK(hg_log_get_level() == HG_LOG_LEVEL_WARNING);
    CHECK(levels(all, all, none, all));
    hg_log_set_subsys("mine");
    CHECK(levels(all, all, none, all));
    hg_log_set_subsys("part");
    CHECK(levels(none, all, none, all));
    hg_log_set_subsys("mine,~part");
    CHECK(levels(all, none, none, all));
    hg_log_set_subsys("~mine");
    CHECK(levels(none, none, none, all));
    hg_log_set_subsys("another,min,mine2");
    CHECK(levels(none, none, none, all));
    hg_log_set_subsys_level("mine", HG_LOG_LEVEL_DEBUG);
    CHECK(strcmp(hg_log_get_subsys(), "another,min,mine2,mine") == 0);
    CHECK(levels(
        HG_LOG_LEVEL_DEBUG, HG_LOG_LEVEL_DEBUG, none, HG_LOG_LEVEL_DEBUG));
    hg_log_set_subsys("all");
    HG_Util_set_log_level("err");
    CHECK(HG_LOG_OUTLET(mine).level == HG_LOG_LEVEL_ERROR);
    CHECK(HG_LOG_OUTLET(late).level == none);
    HG_LOG_OUTLET(late).parent = &HG_LOG_OUTLET(HG_LOG_OUTLET_ROOT_NAME);
    hg_log_outlet_register(&HG_LOG_OUTLET(late));
    hg_log_outlet_register(&HG_LOG_OUTLET(late));
    CHECK(HG_LOG_OUTLET(late).level == HG_LOG_LEVEL_ERROR);
    hg_log_outlet_deregister(&HG_LOG_OUTLET(late));
    hg_log_outlet_deregister(&HG_LOG_OUTLET(late));
    HG_Util_set_log_level("INFO");
    CHECK(HG_LOG_OUTLET(late).level == HG_LOG_LEVEL_ERROR);
    CHECK(HG_LOG_OUTLET(mine_part).level == HG_LOG_LEVEL_INFO);
}

static int evaluated;

static int
evaluate(void)
{
    return ++evaluated;
}

static void
write_v(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    HG_LOG_VWRITE_FUNC(
        mine, HG_LOG_LEVEL_ERROR, NULL, NULL, 0, NULL, false, format, ap);
    va_end(ap);
}

static void
use_lines(void)
{
    char expected[256];
    int line;

    hg_log_set_func(listen_to);
    CHECK(hg_log_get_func() == listen_to);
    HG_Util_set_log_level("info");
    line = __LINE__ + 1;
    HG_LOG_WRITE(mine, HG_LOG_LEVEL_INFO, "%d and %s", evaluate(), "two");
    (void) snprintf(expected, sizeof expected,
        "# mine: [info] %s:%d: use_lines(): 1 and two\n", __FILE__, line);
    CHECK(logged(expected) && logged_to == hg_log_get_stream_debug());
    HG_LOG_WRITE(mine, HG_LOG_LEVEL_DEBUG, "%d", evaluate());
    HG_LOG_SUBSYS_WRITE(off, mine, HG_LOG_LEVEL_FATAL, "%d", evaluate());
    HG_LOG_WRITE_DEBUG_EXT(mine, "header", "%d", evaluate());
    CHECK(logged("") && evaluated == 1);
    hg_log_set_stream_warning(stdout);
    hg_log_write(&HG_LOG_OUTLET(mine_part), HG_LOG_LEVEL_WARNING, "module",
        "f.c", 7, "f", true, "no end");
    CHECK(logged("# part: [warning] module: f.c:7: f(): no end"));
    CHECK(logged_to == stdout && hg_log_get_stream_warning() == stdout);
    hg_log_set_stream_warning(NULL);
    CHECK(hg_log_get_stream_warning() == stderr);
    CHECK(hg_log_get_stream_error() == stderr);
    write_v("%s", "by a list");
    CHECK(logged("# mine: [error] by a list\n"));
    HG_Util_set_log_level("debug");
    HG_LOG_SUBSYS_WRITE_DEBUG_EXT(part, mine, "header", "%d\n", 5);
    CHECK(strstr(output, ": header\n5\n---\n") != NULL);
    output[0] = '\0';
    hg_log_set_func(NULL);
    HG_Util_set_log_level("none");
    HG_LOG_WRITE(mine, HG_LOG_LEVEL_FATAL, "%d", evaluate());
    CHECK(logged("") && evaluated == 1);
}

static void
use_dl(void)
{
    HG_DL_HANDLE handle = hg_dl_open("libtalaria_util.so.0");
    char path[4096];
    void *symbol;

    CHECK(handle != NULL);
    symbol = handle ? hg_dl_sym(handle, "hg_dl_get_path") : NULL;
    CHECK(symbol != NULL);
    CHECK(hg_dl_get_path(symbol, path, sizeof path) == HG_UTIL_SUCCESS);
    CHECK(strstr(path, "libtalaria_util.so") != NULL);
    CHECK(access(path, R_OK) == 0);
    CHECK(hg_dl_get_path(symbol, path, strlen(path)) == HG_UTIL_FAIL);
    CHECK(hg_dl_get_path(symbol, path, strlen(path) + 1) == HG_UTIL_SUCCESS);
    CHECK(hg_dl_get_path(NULL, path, sizeof path) == HG_UTIL_FAIL);
    CHECK(hg_dl_sym(handle, "no_such_name") == NULL && hg_dl_error() != NULL);
    CHECK(hg_dl_error() == NULL);
    CHECK(hg_dl_close(handle) == 0);
    CHECK(hg_dl_open("/no/such/object") == NULL);
}

/* Runs itself again with this environment. */
static void
use_environment(char **argv)
{
    if (!getenv("HG_LOG_SUBSYS")) {
        CHECK(setenv("HG_LOG_SUBSYS", "mine,~part", 1) == 0);
        CHECK(setenv("HG_LOG_LEVEL", "debug", 1) == 0);
        (void) fflush(stdout);
        (void) execv("/proc/self/exe", argv);
        CHECK(!"started again");
    }
    CHECK(levels(HG_LOG_LEVEL_DEBUG, HG_LOG_LEVEL_NONE, HG_LOG_LEVEL_NONE,
        HG_LOG_LEVEL_DEBUG));
}

int
main(int argc, char **argv)
{
    (void) argc;
    if (!getenv("HG_LOG_SUBSYS")) {
        use_levels();
        use_lines();
        use_dl();
        if (wrong > 0)
            return 1;
    }
    use_environment(argv);
    return wrong > 0;
}
