/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls that fail: one kind of call of the process is counted, by a
 * filter whose notifications a thread of the process answers, and one of them
 * ends with an error instead of being made.
 */
#ifndef CALLS_H
#define CALLS_H

#include "frames.h"

#include <stdbool.h>
#include <stddef.h>

struct calls_rule {
    int number;     /* SYS_* */
    int error;      /* errno */
    long fail_at;   /* from 0; negative: none */
    long fail_more; /* so many right after it fail too */
    char *who;      /* is told who asked for it, at once */
    size_t size;    /* of that text */
    bool ours_only; /* those alone that libtalaria and the plugins ask for */
};

/* From now on, for the calling thread and those that it starts. false: not
 * permitted here, errno says why. Once per process. */
bool calls_begin(const struct calls_rule *rule);

/* Nothing is counted or failed any more. */
void calls_end(void);

long calls_count(void);
bool calls_failed(void);

#endif /* CALLS_H */
