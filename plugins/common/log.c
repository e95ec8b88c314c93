/* SPDX-License-Identifier: BSD-3-Clause */
/* Formatting a log line. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/log.h"

#define LINE 768

void
tp_log(const na_plugin_host *host, int32_t level, const char *file,
    uint32_t line, const char *format, ...)
{
    if (__atomic_load_n(host->log_level, __ATOMIC_RELAXED) < level)
        return;

    char text[LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (char *c = text; *c != '\0'; c++)
        if (iscntrl((unsigned char) *c))
            *c = '?';
    host->log(host, level, file, line, text);
}
