/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The log by the util library's names.
 *
 * The functions hg_log_set_* stand for those of mercury.h, which programs link
 * anyway, and hold for the program's own outlets too. An outlet is a source of
 * lines with a name and a level. Its level is 0 or the global one: that of
 * HG_LOG_LEVEL, HG_Util_set_log_level or hg_log_set_level, the last one counts.
 * Which outlets are on, HG_LOG_SUBSYS or hg_log_set_subsys say: names of outlets,
 * also with ~ before them, separated by commas. An outlet that is not named is as
 * its parent is. hg_all, or all, is everybody's parent, and on unless others are named.
 */
#ifndef MERCURY_LOG_H
#define MERCURY_LOG_H

#include "mercury.h"
#include "mercury_atomic.h"
#include "mercury_queue.h"
#include "mercury_thread_mutex.h"
#include "mercury_time.h"
#include "mercury_util_config.h"

#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

enum hg_log_level {
    HG_LOG_LEVEL_NONE,
    HG_LOG_LEVEL_FATAL, /* for mercury.h as error */
    HG_LOG_LEVEL_ERROR,
    HG_LOG_LEVEL_WARNING,
    HG_LOG_LEVEL_MIN_DEBUG, /* for mercury.h as info */
    HG_LOG_LEVEL_INFO,
    HG_LOG_LEVEL_DEBUG,
    HG_LOG_LEVEL_MAX
};

/* Of an outlet: as its parent and the names say, never on, always on. */
enum hg_log_state { HG_LOG_PASS, HG_LOG_OFF, HG_LOG_ON };

struct hg_log_outlet {
    const char *name;
    enum hg_log_state state;
    enum hg_log_level level; /* set when it is registered */
    struct hg_log_outlet *parent;
    struct hg_log_outlet *next; /* of those that are registered */
    bool registered;
};

typedef int (*hg_log_func_t)(FILE *stream, const char *format, ...);

/* Declaring outlets. name and parent are words of C; the name of a sub-system in
 * the log is its own, that of its variable begins with its parent's. */

#define HG_UTIL_CAT(x, y) x##y
#define HG_UTIL_CATU(x, y) HG_UTIL_CATU_(x, y)
#define HG_UTIL_CATU_(x, y) x##_##y
#define HG_UTIL_STRINGIFY(x) #x
#define HG_UTIL_CONSTRUCTOR HG_ATTR_CONSTRUCTOR
#define HG_UTIL_DESTRUCTOR HG_ATTR_DESTRUCTOR

#define HG_LOG_OUTLET_ROOT_NAME hg_all
#define HG_LOG_OUTLET(name) HG_UTIL_CATU(name, log_outlet_g)
#define HG_LOG_OUTLET_DECL(name) struct hg_log_outlet HG_LOG_OUTLET(name)
#define HG_LOG_OUTLET_SUBSYS_DECL(name, parent)                                \
    HG_LOG_OUTLET_DECL(HG_UTIL_CATU(parent, name))

/* parent: a pointer, or NULL. debug_log is not used. */
#define HG_LOG_OUTLET_INITIALIZER(name, state, parent, debug_log)              \
    {                                                                          \
        HG_UTIL_STRINGIFY(name), state, HG_LOG_LEVEL_NONE, parent, NULL, false \
    }
#define HG_LOG_OUTLET_SUBSYS_STATE_INITIALIZER(name, parent, state)            \
    HG_LOG_OUTLET_INITIALIZER(name, state, &HG_LOG_OUTLET(parent), NULL)
#define HG_LOG_OUTLET_SUBSYS_INITIALIZER(name, parent)                         \
    HG_LOG_OUTLET_SUBSYS_STATE_INITIALIZER(name, parent, HG_LOG_PASS)

/* Registers an outlet before main, and takes it out at the end; a semicolon
 * follows. */
#define HG_LOG_REGISTER(name)                                                  \
    static HG_ATTR_CONSTRUCTOR void HG_UTIL_CATU(hg_log_register, name)(void)  \
    {                                                                          \
        hg_log_outlet_register(&HG_LOG_OUTLET(name));                          \
    }                                                                          \
    static HG_ATTR_DESTRUCTOR void HG_UTIL_CATU(hg_log_deregister, name)(void) \
    {                                                                          \
        hg_log_outlet_deregister(&HG_LOG_OUTLET(name));                        \
    }                                                                          \
    struct hg_log_outlet
#define HG_LOG_SUBSYS_REGISTER(name, parent)                                   \
    HG_LOG_REGISTER(HG_UTIL_CATU(parent, name))

/* Both, for an outlet of this file. */
#define HG_LOG_DECL_REGISTER(name)                                             \
    HG_LOG_OUTLET_DECL(name) =                                                 \
        HG_LOG_OUTLET_SUBSYS_INITIALIZER(name, HG_LOG_OUTLET_ROOT_NAME);       \
    HG_LOG_REGISTER(name)
#define HG_LOG_SUBSYS_DECL_STATE_REGISTER(name, parent, state)                 \
    HG_LOG_OUTLET_SUBSYS_DECL(name, parent) =                                  \
        HG_LOG_OUTLET_SUBSYS_STATE_INITIALIZER(name, parent, state);           \
    HG_LOG_SUBSYS_REGISTER(name, parent)
#define HG_LOG_SUBSYS_DECL_REGISTER(name, parent)                              \
    HG_LOG_SUBSYS_DECL_STATE_REGISTER(name, parent, HG_LOG_PASS)

/* Writing. Nothing is evaluated when the outlet's level is lower. */

#define HG_LOG_OUTLET_LEVEL(name)                                              \
    __atomic_load_n(&HG_LOG_OUTLET(name).level, __ATOMIC_RELAXED)

#define HG_LOG_WRITE_FUNC(                                                     \
    name, log_level, module, file, line, func, no_return, ...)                 \
    do {                                                                       \
        if (HG_LOG_OUTLET_LEVEL(name) >= (log_level))                          \
            hg_log_write(&HG_LOG_OUTLET(name), log_level, module, file, line,  \
                func, no_return, __VA_ARGS__);                                 \
    } while (0)
#define HG_LOG_VWRITE_FUNC(                                                    \
    name, log_level, module, file, line, func, no_return, message, ap)         \
    do {                                                                       \
        if (HG_LOG_OUTLET_LEVEL(name) >= (log_level))                          \
            hg_log_vwrite(&HG_LOG_OUTLET(name), log_level, module, file, line, \
                func, no_return, message, ap);                                 \
    } while (0)
#define HG_LOG_WRITE(name, log_level, ...)                                     \
    HG_LOG_WRITE_FUNC(name, log_level, NULL, __FILE__, __LINE__, __func__,     \
        false, __VA_ARGS__)
#define HG_LOG_SUBSYS_WRITE(name, parent, log_level, ...)                      \
    HG_LOG_WRITE(HG_UTIL_CATU(parent, name), log_level, __VA_ARGS__)

/* A header, then what the arguments print as it is, at level debug. */
#define HG_LOG_WRITE_DEBUG_EXT(name, header, ...)                              \
    do {                                                                       \
        if (HG_LOG_OUTLET_LEVEL(name) >= HG_LOG_LEVEL_DEBUG) {                 \
            HG_LOG_WRITE(name, HG_LOG_LEVEL_DEBUG, header);                    \
            (void) hg_log_get_func()(hg_log_get_stream_debug(), __VA_ARGS__);  \
            (void) hg_log_get_func()(hg_log_get_stream_debug(), "---\n");      \
        }                                                                      \
    } while (0)
#define HG_LOG_SUBSYS_WRITE_DEBUG_EXT(name, parent, header, ...)               \
    HG_LOG_WRITE_DEBUG_EXT(HG_UTIL_CATU(parent, name), header, __VA_ARGS__)

#ifdef __cplusplus
extern "C" {
#endif

/* Registers an outlet, which stays where it is until it is taken out; that it is
 * registered already does nothing. [any thread] */
HG_UTIL_PUBLIC void hg_log_outlet_register(struct hg_log_outlet *outlet);
HG_UTIL_PUBLIC void hg_log_outlet_deregister(struct hg_log_outlet *outlet);

/* Writes a line, whatever the outlet's level: its name, the level, module and a
 * colon unless that is NULL, file, line and function unless that is NULL, the
 * text, and a line's end unless no_return. [any thread] */
HG_UTIL_PUBLIC void hg_log_write(struct hg_log_outlet *outlet,
    enum hg_log_level log_level, const char *module, const char *file,
    unsigned int line, const char *func, bool no_return, const char *format,
    ...) HG_UTIL_PRINTF(8, 9);
HG_UTIL_PUBLIC void hg_log_vwrite(struct hg_log_outlet *outlet,
    enum hg_log_level log_level, const char *module, const char *file,
    unsigned int line, const char *func, bool no_return, const char *format,
    va_list ap) HG_UTIL_PRINTF(8, 0);

/* What holds for outlets. The text of hg_log_get_subsys stays until the next
 * change. [any thread] */
HG_UTIL_PUBLIC enum hg_log_level hg_log_get_level(void);
HG_UTIL_PUBLIC const char *hg_log_get_subsys(void);
HG_UTIL_PUBLIC hg_log_func_t hg_log_get_func(void);
HG_UTIL_PUBLIC FILE *hg_log_get_stream_error(void);
HG_UTIL_PUBLIC FILE *hg_log_get_stream_warning(void);
HG_UTIL_PUBLIC FILE *hg_log_get_stream_debug(void);

/* The outlets' part of the functions below. NULL: what it was at first. A stream
 * is that of one level. [any thread] */
HG_UTIL_PUBLIC void hg_log_outlets_set_level(enum hg_log_level log_level);
HG_UTIL_PUBLIC void hg_log_outlets_set_subsys(const char *log_subsys);
HG_UTIL_PUBLIC void hg_log_outlets_set_func(hg_log_func_t log_func);
HG_UTIL_PUBLIC void hg_log_outlets_set_stream(
    enum hg_log_level log_level, FILE *stream);

/* Sets the global level of outlets, and names one of them in addition to those
 * that are named. [any thread] */
HG_UTIL_PUBLIC void hg_log_set_subsys_level(
    const char *subsys, enum hg_log_level log_level);

/* Every outlet's parent. */
extern HG_UTIL_PUBLIC struct hg_log_outlet hg_all_log_outlet_g;

#ifdef __cplusplus
}
#endif

/* A name of the level, which HG_Set_log_level takes. */
static HG_UTIL_INLINE const char *
hg_log_level_to_string(enum hg_log_level level)
{
    static const char *const names[] = {
        "none", "fatal", "error", "warning", "min_debug", "info", "debug"};

    return level < HG_LOG_LEVEL_MAX ? names[level] : names[0];
}

/* The level of a name in upper or lower case, HG_LOG_LEVEL_NONE for one that is
 * unknown. */
static HG_UTIL_INLINE enum hg_log_level
hg_log_name_to_level(const char *log_level)
{
    static const struct {
        const char *name;
        enum hg_log_level level;
    } names[] = {{"fatal", HG_LOG_LEVEL_FATAL}, {"ftl", HG_LOG_LEVEL_FATAL},
        {"err", HG_LOG_LEVEL_ERROR}, {"error", HG_LOG_LEVEL_ERROR},
        {"warn", HG_LOG_LEVEL_WARNING}, {"warning", HG_LOG_LEVEL_WARNING},
        {"min_debug", HG_LOG_LEVEL_MIN_DEBUG},
        {"trace", HG_LOG_LEVEL_MIN_DEBUG}, {"inf", HG_LOG_LEVEL_INFO},
        {"info", HG_LOG_LEVEL_INFO}, {"dbg", HG_LOG_LEVEL_DEBUG},
        {"debug", HG_LOG_LEVEL_DEBUG}};
    size_t i;

    for (i = 0; log_level && i < sizeof names / sizeof names[0]; i++)
        if (strcasecmp(log_level, names[i].name) == 0)
            return names[i].level;
    return HG_LOG_LEVEL_NONE;
}

/* As HG_Set_log_level. */
static HG_UTIL_INLINE void
hg_log_set_level(enum hg_log_level log_level)
{
    HG_Set_log_level(hg_log_level_to_string(log_level));
    hg_log_outlets_set_level(log_level);
}

/* As HG_Set_log_subsys. */
static HG_UTIL_INLINE void
hg_log_set_subsys(const char *log_subsys)
{
    HG_Set_log_subsys(log_subsys);
    hg_log_outlets_set_subsys(log_subsys);
}

/* As HG_Set_log_func. */
static HG_UTIL_INLINE void
hg_log_set_func(hg_log_func_t log_func)
{
    HG_Set_log_func(log_func);
    hg_log_outlets_set_func(log_func);
}

/* As HG_Set_log_stream, for errors. */
static HG_UTIL_INLINE void
hg_log_set_stream_error(FILE *stream)
{
    HG_Set_log_stream("error", stream);
    hg_log_outlets_set_stream(HG_LOG_LEVEL_ERROR, stream);
}

/* As HG_Set_log_stream, for warnings. */
static HG_UTIL_INLINE void
hg_log_set_stream_warning(FILE *stream)
{
    HG_Set_log_stream("warning", stream);
    hg_log_outlets_set_stream(HG_LOG_LEVEL_WARNING, stream);
}

/* As HG_Set_log_stream, for what is below a warning. */
static HG_UTIL_INLINE void
hg_log_set_stream_debug(FILE *stream)
{
    HG_Set_log_stream("info", stream);
    HG_Set_log_stream("debug", stream);
    hg_log_outlets_set_stream(HG_LOG_LEVEL_DEBUG, stream);
}

#endif /* MERCURY_LOG_H */
