/* SPDX-License-Identifier: BSD-3-Clause */
/* One line on standard error, if it is a terminal, that tells how far it is. */
#ifndef PERF_PROGRESS_H
#define PERF_PROGRESS_H

/* Shows words in place of those before. */
void perf_progress_show(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Removes the line. */
void perf_progress_clear(void);

#endif /* PERF_PROGRESS_H */
