/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches the library's log: a test fails on a warning or an error that it did
 * not expect. Lines of child processes count as well.
 */
#ifndef LOG_WATCH_H
#define LOG_WATCH_H

#include <stdint.h>

/* Clears all lines and expectations. Once per test, before any fork. */
void log_watch_begin(void);

/* Collects what this process logs from now on, at level warning or above. */
void log_watch_install(void);

/* Expects at least min and at most max lines that contain text. */
void log_expect(const char *text, uint32_t min, uint32_t max);

/* Number of lines so far that contain text. */
uint32_t log_count(const char *text);

/* First line that contains text, or NULL. */
const char *log_line(const char *text);

/* Fails the test if there are too many or too few lines. */
void log_watch_check(void);

#endif /* LOG_WATCH_H */
