/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines for the host's log, and the host's settings. */
#ifndef UCX_LOG_H
#define UCX_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "na_plugin.h"

/* Logs one line at NA_PLUGIN_LOG_<level>; formats nothing that is unwanted. */
#define UCX_LOG(host, level, ...)                                              \
    ucx_log((host), NA_PLUGIN_LOG_##level, __FILE__, __LINE__, __VA_ARGS__)

__attribute__((format(printf, 5, 6))) void ucx_log(const na_plugin_host *host,
    int32_t level, const char *file, uint32_t line, const char *format, ...);

/* Reads a number from the host's settings: *value_p keeps its default when key
 * is not set. False, and a line at level ERROR, when it is not a number from
 * least to most. */
bool ucx_log_setting(const na_plugin_host *host, const char *key,
    uint64_t least, uint64_t most, uint64_t *value_p);

#endif /* UCX_LOG_H */
