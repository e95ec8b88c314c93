/* SPDX-License-Identifier: BSD-3-Clause */
/* Formatting a log line, and reading a number from the settings. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "log.h"

/* Names of users and peers may stand in a line, and end it nowhere. */
static void
keep_one_line(char *text)
{
    for (; *text; text++)
        if (iscntrl((unsigned char) *text))
            *text = '?';
}

void
ucx_log(const na_plugin_host *host, int32_t level, const char *file,
    uint32_t line, const char *format, ...)
{
    if (__atomic_load_n(host->log_level, __ATOMIC_RELAXED) < level)
        return;

    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    keep_one_line(text);
    host->log(host, level, file, line, text);
}

bool
ucx_log_setting(const na_plugin_host *host, const char *key, uint64_t least,
    uint64_t most, uint64_t *value_p)
{
    const char *text = host->config(host, key);
    if (text == NULL)
        return true;

    char *end = NULL;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char) text[0]) || *end != '\0' || errno != 0 ||
        value < least || value > most) {
        UCX_LOG(host, ERROR,
            "%s is \"%s\": a number from %" PRIu64 " to %" PRIu64 " is needed",
            key, text, least, most);
        return false;
    }
    *value_p = value;
    return true;
}
