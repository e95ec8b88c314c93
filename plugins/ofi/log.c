/* SPDX-License-Identifier: BSD-3-Clause */
/* Formatting a log line. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "log.h"

#define LINE 768

/* What peers and users wrote may stand in a line, and end it nowhere. */
static void
keep_one_line(char *text)
{
    for (; *text != '\0'; text++)
        if (iscntrl((unsigned char) *text))
            *text = '?';
}

void
ofi_log(const na_plugin_host *host, int32_t level, const char *file,
    uint32_t line, const char *format, ...)
{
    if (__atomic_load_n(host->log_level, __ATOMIC_RELAXED) < level)
        return;

    char text[LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    keep_one_line(text);
    host->log(host, level, file, line, text);
}
