/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a measurement failed: the first error of any thread of any of our
 * processes. May be in shared memory. */
#ifndef PERF_FAILURE_H
#define PERF_FAILURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct perf_failure {
    _Atomic int state; /* 0: none, 1: being written, 2: text is there */
    char text[400];
};

/* Keeps the message if it is the first. [any thread] */
void perf_failure_set(struct perf_failure *failure, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether a failure is set; its message may still be written. [any thread] */
static inline bool
perf_failure_is_set(const struct perf_failure *failure)
{
    return atomic_load_explicit(&failure->state, memory_order_relaxed) != 0;
}

/* Returns the message, or "". */
const char *perf_failure_text(const struct perf_failure *failure);

/* Copies text from a peer or file, terminated, with '?' for bytes that are not
 * printable. size: of `to`, at least 1. */
void perf_text_copy(char *to, size_t size, const char *from, size_t length);

#endif /* PERF_FAILURE_H */
