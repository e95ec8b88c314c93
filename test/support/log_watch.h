/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches what the library logs: a test fails when a warning or an error comes
 * that it has not announced. Lines of child processes count as well.
 */
#ifndef LOG_WATCH_H
#define LOG_WATCH_H

#include <stdint.h>

/* Forgets all lines and expectations. Once per test, before any fork. */
void log_watch_begin(void);

/* Collects what this process logs from now on, at level warning. */
void log_watch_install(void);

/* Announces lines that contain text: at least min, at most max of them. */
void log_expect(const char *text, uint32_t min, uint32_t max);

/* Lines so far that contain text. */
uint32_t log_count(const char *text);

/* The first line that contains text; NULL: none does. */
const char *log_line(const char *text);

/* Fails the test on lines too many or too few. */
void log_watch_check(void);

#endif /* LOG_WATCH_H */
