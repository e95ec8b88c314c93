/* SPDX-License-Identifier: BSD-3-Clause */
/* The log by the util library's names: levels as numbers, functions that stand
 * on those of mercury.h. Programs that use it link Talaria anyway. */
#ifndef MERCURY_LOG_H
#define MERCURY_LOG_H

#include "mercury.h"
#include "mercury_util_config.h"

#include <stdio.h>
#include <string.h>

enum hg_log_level {
    HG_LOG_LEVEL_NONE,
    HG_LOG_LEVEL_FATAL, /* as error */
    HG_LOG_LEVEL_ERROR,
    HG_LOG_LEVEL_WARNING,
    HG_LOG_LEVEL_MIN_DEBUG, /* as info */
    HG_LOG_LEVEL_INFO,
    HG_LOG_LEVEL_DEBUG,
    HG_LOG_LEVEL_MAX
};

typedef int (*hg_log_func_t)(FILE *stream, const char *format, ...);

/* The name of a level that HG_Set_log_level takes. */
static HG_UTIL_INLINE const char *
hg_log_level_to_string(enum hg_log_level level)
{
    switch (level) {
    case HG_LOG_LEVEL_FATAL:
    case HG_LOG_LEVEL_ERROR:
        return "error";
    case HG_LOG_LEVEL_WARNING:
        return "warning";
    case HG_LOG_LEVEL_MIN_DEBUG:
    case HG_LOG_LEVEL_INFO:
        return "info";
    case HG_LOG_LEVEL_DEBUG:
        return "debug";
    case HG_LOG_LEVEL_NONE:
    case HG_LOG_LEVEL_MAX:
        break;
    }
    return "none";
}

/* The level of a name, HG_LOG_LEVEL_NONE for one that is unknown. */
static HG_UTIL_INLINE enum hg_log_level
hg_log_name_to_level(const char *log_level)
{
    static const struct {
        const char *name;
        enum hg_log_level level;
    } names[] = {{"fatal", HG_LOG_LEVEL_FATAL}, {"err", HG_LOG_LEVEL_ERROR},
        {"error", HG_LOG_LEVEL_ERROR}, {"warn", HG_LOG_LEVEL_WARNING},
        {"warning", HG_LOG_LEVEL_WARNING},
        {"min_debug", HG_LOG_LEVEL_MIN_DEBUG}, {"info", HG_LOG_LEVEL_INFO},
        {"debug", HG_LOG_LEVEL_DEBUG}};
    size_t i;

    for (i = 0; log_level && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(log_level, names[i].name) == 0)
            return names[i].level;
    return HG_LOG_LEVEL_NONE;
}

/* As HG_Set_log_level. */
static HG_UTIL_INLINE void
hg_log_set_level(enum hg_log_level log_level)
{
    HG_Set_log_level(hg_log_level_to_string(log_level));
}

/* As HG_Set_log_subsys. */
static HG_UTIL_INLINE void
hg_log_set_subsys(const char *log_subsys)
{
    HG_Set_log_subsys(log_subsys);
}

/* As HG_Set_log_func. */
static HG_UTIL_INLINE void
hg_log_set_func(hg_log_func_t log_func)
{
    HG_Set_log_func(log_func);
}

/* As HG_Set_log_stream, for errors. */
static HG_UTIL_INLINE void
hg_log_set_stream_error(FILE *stream)
{
    HG_Set_log_stream("error", stream);
}

/* As HG_Set_log_stream, for warnings. */
static HG_UTIL_INLINE void
hg_log_set_stream_warning(FILE *stream)
{
    HG_Set_log_stream("warning", stream);
}

/* As HG_Set_log_stream, for what is below a warning. */
static HG_UTIL_INLINE void
hg_log_set_stream_debug(FILE *stream)
{
    HG_Set_log_stream("info", stream);
    HG_Set_log_stream("debug", stream);
}

#endif /* MERCURY_LOG_H */
