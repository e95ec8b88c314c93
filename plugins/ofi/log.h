/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines for the host's log. */
#ifndef OFI_LOG_H
#define OFI_LOG_H

#include <stdint.h>

#include "na_plugin.h"

/* Logs one line at NA_PLUGIN_LOG_<level>; formats nothing that is unwanted. */
#define OFI_LOG(host, level, ...)                                              \
    ofi_log((host), NA_PLUGIN_LOG_##level, __FILE__, __LINE__, __VA_ARGS__)

__attribute__((format(printf, 5, 6))) void ofi_log(const na_plugin_host *host,
    int32_t level, const char *file, uint32_t line, const char *format, ...);

#endif /* OFI_LOG_H */
