/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs something that may crash, hang or report failures in a child process,
 * and describes the outcome.
 */
#ifndef RUN_H
#define RUN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define RUN_TEXT 6000

/* Shared by both processes. */
struct run {
    char doing[100]; /* step that the run is about to do */
    /* what was made to fail, and the stack that requested it */
    char fault[1200];
    long count;          /* number of events counted */
    unsigned left;       /* leaked allocations */
    bool failed;         /* whether the failing event was reached */
    bool not_permitted;  /* the run is not possible here */
    unsigned logged;     /* number of warnings and errors */
    char log[RUN_TEXT];  /* their text */
    char text[RUN_TEXT]; /* failures, one per line */
};

/* Of this process, or of its last child. */
extern struct run *run_current;

/* Runs body(arg) in a child. Returns true if it ended in time and reported no
 * failure; otherwise run_current->text describes it in full. */
bool run_apart(void (*body)(void *arg), void *arg, unsigned limit_ms);

void run_doing(const char *what);
void run_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

void run_log(const char *format, va_list args)
    __attribute__((format(printf, 1, 0)));

/* Descriptors, shared mappings and bytes of private mappings of this
 * process. */
struct holdings {
    unsigned descriptors;
    unsigned shared;
    size_t shared_bytes;
};
void holdings_take(struct holdings *holdings);

/* Reports a failure if there is more than before. */
void holdings_compare(const struct holdings *before);

#endif /* RUN_H */
