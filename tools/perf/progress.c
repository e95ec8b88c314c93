/* SPDX-License-Identifier: BSD-3-Clause */
/* The line is overwritten, and truncated to the terminal's width: a wrapped
 * line could not be cleared. */
#include "perf/progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool shown;

static int
columns(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

void
perf_progress_show(const char *format, ...)
{
    char text[160];
    va_list arguments;

    if (!isatty(STDERR_FILENO))
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\r%.*s\033[K", columns() - 1, text);
    fflush(stderr);
    shown = true;
}

void
perf_progress_clear(void)
{
    if (!shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    shown = false;
}
