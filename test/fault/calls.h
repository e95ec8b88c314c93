/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failing system calls: one kind of call of this process is counted, by a
 * seccomp filter whose notifications a thread of the process answers, and one
 * of them fails instead of being executed.
 */
#ifndef CALLS_H
#define CALLS_H

#include "frames.h"

#include <stdbool.h>
#include <stddef.h>

struct calls_rule {
    int number;       /* SYS_* */
    int error;        /* errno */
    long fail_at;     /* index of the call to fail, from 0; negative: none */
    long fail_more;   /* number of further calls right after it that fail too */
    char *stack_text; /* called at once with the stack of the failing call */
    size_t size;      /* size of that text */
    bool ours_only;   /* only calls made for libtalaria and the plugins */
};

/* Starts counting, for the calling thread and the threads that it starts.
 * Returns false and sets errno if the system does not permit it. Once per
 * process. */
bool calls_begin(const struct calls_rule *rule);

/* Stops counting and failing. */
void calls_end(void);

long calls_count(void);
bool calls_failed(void);

#endif /* CALLS_H */
