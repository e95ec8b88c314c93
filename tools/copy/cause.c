/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives the lines of the library's log. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mercury.h>

#include "copy/cause.h"
#include "copy/report.h"

#define LINE_SIZE 1400 /* as long as a line of the log can be */

static char held[LINE_SIZE];
static char text[LINE_SIZE];

/* Returns what follows "… [error] subsystem: file:line: ", or NULL if the line
 * is not such an error. */
static const char *
text_of(const char *line)
{
    const char *at = strstr(line, " [error] ");

    for (int i = 0; i < 2 && at != NULL; i++) {
        at = strstr(at, ": ");
        if (at != NULL)
            at += 2;
    }
    return at;
}

static __attribute__((format(printf, 2, 3))) int
on_line(FILE *stream, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (held[0] == 0 && text_of(line) != NULL) {
        memcpy(held, line, sizeof(held));
        return length;
    }
    copy_bar_clear();
    return fputs(line, stream);
}

void
copy_cause_hold(void)
{
    if (getenv("HG_LOG_LEVEL") == NULL)
        HG_Set_log_func(on_line);
}

const char *
copy_cause_take(void)
{
    if (held[0] == 0)
        return NULL;
    snprintf(text, sizeof(text), "%s", text_of(held));
    text[strcspn(text, "\n")] = 0;
    held[0] = 0;
    return text;
}

void
copy_cause_release(void)
{
    HG_Set_log_func(NULL);
    if (held[0] != 0)
        fputs(held, stderr);
    held[0] = 0;
}
