/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines for the host's log. [any thread] */
#ifndef TP_LOG_H
#define TP_LOG_H

#include "na_plugin.h"

/* Logs one line at NA_PLUGIN_LOG_<level>; formats nothing that is unwanted. */
#define TP_LOG(host, level, ...)                                               \
    tp_log((host), NA_PLUGIN_LOG_##level, __FILE__, __LINE__, __VA_ARGS__)

/* The same for what a peer can cause at will: the first, second, fourth, eighth …
 * time, the others at level DEBUG. before: how often it has happened before. */
#define TP_LOG_THINNED(host, level, before, ...)                               \
    do {                                                                       \
        uint64_t before_ = (before);                                           \
        tp_log((host),                                                         \
            (before_ & (before_ + 1)) == 0 ? NA_PLUGIN_LOG_##level             \
                                           : NA_PLUGIN_LOG_DEBUG,              \
            __FILE__, __LINE__, __VA_ARGS__);                                  \
    } while (0)

/* Control characters, which names of users and peers may have, become '?'. */
__attribute__((format(printf, 5, 6))) void tp_log(const na_plugin_host *host,
    int32_t level, const char *file, uint32_t line, const char *format, ...);

#endif /* TP_LOG_H */
