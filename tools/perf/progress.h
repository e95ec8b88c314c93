/* SPDX-License-Identifier: BSD-3-Clause */
/* A progress line on standard error, if that is a terminal. */
#ifndef PERF_PROGRESS_H
#define PERF_PROGRESS_H

/* Replaces the line. */
void perf_progress_show(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Removes the line. */
void perf_progress_clear(void);

#endif /* PERF_PROGRESS_H */
