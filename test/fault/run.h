/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One run of something that may crash, hang or complain, in a process of its
 * own, and what came of it in words.
 */
#ifndef RUN_H
#define RUN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define RUN_TEXT 6000

/* Memory of both processes. */
struct run {
    char doing[100];     /* what the run is about to do */
    char fault[1200];    /* what was made to fail, and who asked for it */
    long count;          /* how much of it there was */
    unsigned left;       /* allocations in the end */
    bool failed;         /* whether it was reached */
    bool not_permitted;  /* the run could not be made here */
    unsigned logged;     /* warnings and errors */
    char log[RUN_TEXT];  /* these */
    char text[RUN_TEXT]; /* complaints, one a line */
};

/* That of this process, or of its last child. */
extern struct run *run_current;

/* Runs body(arg) in a child; true when it ended in time, without a complaint.
 * Else run_current->text says what it was, in full. */
bool run_apart(void (*body)(void *arg), void *arg, unsigned limit_ms);

void run_doing(const char *what);
void run_complain(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

void run_log(const char *format, va_list args)
    __attribute__((format(printf, 1, 0)));

/* Descriptors, shared mappings and bytes of private ones of this process. */
struct holdings {
    unsigned descriptors;
    unsigned shared;
    size_t shared_bytes;
};
void holdings_take(struct holdings *holdings);

/* Complains of more than there was before. */
void holdings_compare(const struct holdings *before);

#endif /* RUN_H */
