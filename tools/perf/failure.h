/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why a measurement failed: the first reason that any thread of any process of
 * ours found, in words. May lie in shared memory.
 */
#ifndef PERF_FAILURE_H
#define PERF_FAILURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct perf_failure {
    _Atomic int state; /* 0: none, 1: being written, 2: text is there */
    char text[400];
};

/* Keeps the words if they are the first. [any thread] */
void perf_failure_set(struct perf_failure *failure, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether there is one, perhaps without its words yet. [any thread] */
static inline bool
perf_failure_is_set(const struct perf_failure *failure)
{
    return atomic_load_explicit(&failure->state, memory_order_relaxed) != 0;
}

/* The words, or "" when there are none. */
const char *perf_failure_text(const struct perf_failure *failure);

/* Copies text from a peer or file, terminated, what cannot be printed as '?'.
 * size: room in to, at least 1. */
void perf_text_copy(char *to, size_t size, const char *from, size_t length);

#endif /* PERF_FAILURE_H */
