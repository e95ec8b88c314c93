/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logging: a level check that costs one relaxed load, and one writer. Levels
 * and outputs are those of the process, as in Mercury's interface. A line:
 *
 *   # talaria <UTC> <host> <pid>/<thread> [<level>] <subsystem>: <file>:<line>: <text>
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The same numbers as NA_PLUGIN_LOG_*. */
enum base_log_level {
    BASE_LOG_NONE,
    BASE_LOG_ERROR,
    BASE_LOG_WARNING,
    BASE_LOG_INFO,
    BASE_LOG_DEBUG
};

/* Subsystems in the order of their names: see base_log_set_subsys. */
enum base_log_subsys {
    BASE_LOG_PLUGIN,    /* finding and opening plugins */
    BASE_LOG_TRANSPORT, /* lines of plugins */
    BASE_LOG_NA,
    BASE_LOG_HG,
    BASE_LOG_BULK,
    BASE_LOG_PROC,
    BASE_LOG_SUBSYS_MAX
};

/* The log level, accessed by atomic builtins: plugins get its address as
 * na_plugin_host.log_level, a plain integer in any language. */
extern int32_t base_log_gate;

/* Reads HG_LOG_LEVEL and HG_LOG_SUBSYS, once per process. [any thread] */
void base_log_init(void);

/* level: "none", "error", "warning", "info", "debug", or Mercury's other names:
 * "fatal", "err", "warn", "min_debug". Returns false for other names, without
 * effect. */
bool base_log_set_level(const char *level);

/* Sets the function that is called after each change of the level; NULL: none.
 * [any thread] */
void base_log_on_level(void (*changed)(void));

/* Comma-separated names of subsystems: "plugin", "transport", "na", "hg",
 * "bulk", "proc", or "all". Those in the list log all levels, the others errors
 * only. "~name" turns one off, except for errors, and does not change the
 * others. Unknown names are ignored, since programs use Mercury's. */
void base_log_set_subsys(const char *names);

/* Sets the function that writes lines; NULL restores the default. */
void base_log_set_func(int (*func)(FILE *stream, const char *format, ...));

/* Sets the stream of a level; the default is stderr. */
void base_log_set_stream(const char *level, FILE *stream);

/* Writes a line after base_log_wanted has returned true. text: one line without
 * its newline. [any thread] */
void base_log_text(enum base_log_subsys subsys, int32_t level, const char *file,
    unsigned line, const char *text);
void base_log_write(enum base_log_subsys subsys, int32_t level,
    const char *file, unsigned line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Thins lines that peers can cause any number of times: the first
 * BASE_LOG_FIRST are written, then one at each power of two. Counts a line and
 * returns whether to write it. count: of this line, for all peers together,
 * never reset. so_far: " (N so far)", or empty for the first. [any thread] */
#define BASE_LOG_FIRST 64U
#define BASE_LOG_SO_FAR_MAX 40U
bool base_log_is_due(_Atomic uint64_t *count, char so_far[BASE_LOG_SO_FAR_MAX]);

static inline bool
base_log_wanted(int32_t level)
{
    return level <= __atomic_load_n(&base_log_gate, __ATOMIC_RELAXED);
}

#define BASE_LOG(subsys, level, ...)                                           \
    do {                                                                       \
        if (base_log_wanted(level))                                            \
            base_log_write(subsys, level, __FILE__, __LINE__, __VA_ARGS__);    \
    } while (0)
/* BASE_LOG for lines that peers can cause any number of times. */
#define LOG_THINNED(subsys, level, format, ...)                                \
    do {                                                                       \
        static _Atomic uint64_t log_count;                                     \
        char log_so_far[BASE_LOG_SO_FAR_MAX];                                  \
                                                                               \
        if (base_log_wanted(BASE_LOG_##level) &&                               \
            base_log_is_due(&log_count, log_so_far))                           \
            base_log_write(BASE_LOG_##subsys, BASE_LOG_##level, __FILE__,      \
                __LINE__, format "%s", __VA_ARGS__, log_so_far);               \
    } while (0)
#define LOG_ERROR(subsys, ...)                                                 \
    BASE_LOG(BASE_LOG_##subsys, BASE_LOG_ERROR, __VA_ARGS__)
#define LOG_WARNING(subsys, ...)                                               \
    BASE_LOG(BASE_LOG_##subsys, BASE_LOG_WARNING, __VA_ARGS__)
#define LOG_INFO(subsys, ...)                                                  \
    BASE_LOG(BASE_LOG_##subsys, BASE_LOG_INFO, __VA_ARGS__)
#define LOG_DEBUG(subsys, ...)                                                 \
    BASE_LOG(BASE_LOG_##subsys, BASE_LOG_DEBUG, __VA_ARGS__)

#endif /* BASE_LOG_H */
