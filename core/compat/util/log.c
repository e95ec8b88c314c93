/* SPDX-License-Identifier: BSD-3-Clause */
/* Outlets of programs: their levels, and their lines. */
#include "mercury_log.h"
#include "mercury_util.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ROOT_NAME "hg_all"
#define LINE_MAX_BYTES 1024 /* longer texts are cut */

/* Below the errors come the warnings, then all the rest. */
enum stream { STREAM_ERROR, STREAM_WARNING, STREAM_DEBUG, STREAMS };

HG_LOG_OUTLET_DECL(HG_LOG_OUTLET_ROOT_NAME) = {
    ROOT_NAME, HG_LOG_PASS, HG_LOG_LEVEL_ERROR, NULL, NULL, false};

/* All below, and the list that begins at the root, are under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum hg_log_level global_level = HG_LOG_LEVEL_ERROR;
static char subsys[256] = ROOT_NAME;
static hg_log_func_t write_func = fprintf;
static FILE *streams[STREAMS]; /* NULL: the standard error stream */

static bool
is_name_of(const struct hg_log_outlet *outlet, const char *word, size_t length)
{
    return (strlen(outlet->name) == length &&
               memcmp(word, outlet->name, length) == 0) ||
           (outlet == &HG_LOG_OUTLET(HG_LOG_OUTLET_ROOT_NAME) && length == 3 &&
               memcmp(word, "all", 3) == 0);
}

/* 1 if the outlet is named in subsys, -1 if with ~ before it, else 0. */
static int
named(const struct hg_log_outlet *outlet)
{
    const char *at = subsys;

    while (*at) {
        bool off = *at == '~';
        size_t word;

        at += off;
        word = strcspn(at, ",");
        if (is_name_of(outlet, at, word))
            return off ? -1 : 1;
        at += word;
        at += *at == ',';
    }
    return 0;
}

static enum hg_log_level
level_of(const struct hg_log_outlet *outlet)
{
    for (; outlet; outlet = outlet->parent) {
        int how = outlet->state == HG_LOG_PASS ? named(outlet) : 0;

        if (outlet->state == HG_LOG_ON || how > 0)
            return global_level;
        if (outlet->state == HG_LOG_OFF || how < 0)
            break;
    }
    return HG_LOG_LEVEL_NONE;
}

static void
level_set(struct hg_log_outlet *outlet)
{
    __atomic_store_n(&outlet->level, level_of(outlet), __ATOMIC_RELAXED);
}

static void
levels_set(void)
{
    struct hg_log_outlet *outlet = &HG_LOG_OUTLET(HG_LOG_OUTLET_ROOT_NAME);

    for (; outlet; outlet = outlet->next)
        level_set(outlet);
}

static void
subsys_set(const char *names)
{
    if (!names || !*names)
        names = ROOT_NAME;
    (void) snprintf(subsys, sizeof subsys, "%s", names);
}

/* What the environment says, before anything else is set. */
static void
start(void)
{
    const char *level = getenv("HG_LOG_LEVEL");

    if (level)
        global_level = hg_log_name_to_level(level);
    subsys_set(getenv("HG_LOG_SUBSYS"));
    levels_set();
}

static void
enter(void)
{
    static bool started;

    (void) pthread_mutex_lock(&lock);
    if (!started) {
        started = true;
        start();
    }
}

static void
leave(void)
{
    (void) pthread_mutex_unlock(&lock);
}

void
hg_log_outlet_register(struct hg_log_outlet *outlet)
{
    struct hg_log_outlet *root = &HG_LOG_OUTLET(HG_LOG_OUTLET_ROOT_NAME);

    enter();
    if (!outlet->registered && outlet != root) {
        outlet->registered = true;
        outlet->next = root->next;
        root->next = outlet;
        level_set(outlet);
    }
    leave();
}

void
hg_log_outlet_deregister(struct hg_log_outlet *outlet)
{
    struct hg_log_outlet **at = &HG_LOG_OUTLET(HG_LOG_OUTLET_ROOT_NAME).next;

    enter();
    while (*at && *at != outlet)
        at = &(*at)->next;
    if (*at) {
        *at = outlet->next;
        outlet->next = NULL;
        outlet->registered = false;
    }
    leave();
}

void
hg_log_outlets_set_level(enum hg_log_level log_level)
{
    enter();
    global_level = log_level;
    levels_set();
    leave();
}

void
hg_log_outlets_set_subsys(const char *log_subsys)
{
    enter();
    subsys_set(log_subsys);
    levels_set();
    leave();
}

void
hg_log_set_subsys_level(const char *name, enum hg_log_level log_level)
{
    size_t used;

    enter();
    used = strlen(subsys);
    if (name && *name && used + strlen(name) + 2 <= sizeof subsys)
        (void) snprintf(
            subsys + used, sizeof subsys - used, used ? ",%s" : "%s", name);
    global_level = log_level;
    levels_set();
    leave();
}

void
hg_log_outlets_set_func(hg_log_func_t log_func)
{
    enter();
    write_func = log_func ? log_func : fprintf;
    leave();
}

static enum stream
stream_of(enum hg_log_level log_level)
{
    if (log_level <= HG_LOG_LEVEL_ERROR)
        return STREAM_ERROR;
    return log_level == HG_LOG_LEVEL_WARNING ? STREAM_WARNING : STREAM_DEBUG;
}

void
hg_log_outlets_set_stream(enum hg_log_level log_level, FILE *stream)
{
    enter();
    streams[stream_of(log_level)] = stream;
    leave();
}

enum hg_log_level
hg_log_get_level(void)
{
    enum hg_log_level level;

    enter();
    level = global_level;
    leave();
    return level;
}

const char *
hg_log_get_subsys(void)
{
    enter();
    leave();
    return subsys;
}

hg_log_func_t
hg_log_get_func(void)
{
    hg_log_func_t func;

    enter();
    func = write_func;
    leave();
    return func;
}

static FILE *
stream_get(enum stream which)
{
    FILE *stream;

    enter();
    stream = streams[which] ? streams[which] : stderr;
    leave();
    return stream;
}

FILE *
hg_log_get_stream_error(void)
{
    return stream_get(STREAM_ERROR);
}

FILE *
hg_log_get_stream_warning(void)
{
    return stream_get(STREAM_WARNING);
}

FILE *
hg_log_get_stream_debug(void)
{
    return stream_get(STREAM_DEBUG);
}

void
hg_log_vwrite(struct hg_log_outlet *outlet, enum hg_log_level log_level,
    const char *module, const char *file, unsigned int line, const char *func,
    bool no_return, const char *format, va_list ap)
{
    char text[LINE_MAX_BYTES], place[256] = "";

    (void) vsnprintf(text, sizeof text, format, ap);
    if (file && func)
        (void) snprintf(place, sizeof place, "%s:%u: %s(): ", file, line, func);
    else if (file)
        (void) snprintf(place, sizeof place, "%s:%u: ", file, line);
    /* One call, so that lines of several threads don't mix. */
    (void) hg_log_get_func()(stream_get(stream_of(log_level)),
        "# %s: [%s] %s%s%s%s%s", outlet->name,
        hg_log_level_to_string(log_level), module ? module : "",
        module ? ": " : "", place, text, no_return ? "" : "\n");
}

void
hg_log_write(struct hg_log_outlet *outlet, enum hg_log_level log_level,
    const char *module, const char *file, unsigned int line, const char *func,
    bool no_return, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    hg_log_vwrite(
        outlet, log_level, module, file, line, func, no_return, format, ap);
    va_end(ap);
}

void
HG_Util_set_log_level(const char *level)
{
    hg_log_outlets_set_level(hg_log_name_to_level(level));
}
