/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose code asks the system for something: the stack of a call, and the first
 * object in it that is not the C library or a sanitizer.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include <stdio.h>

#define FRAMES_MAX 20

struct frames {
    int count;
    void *pc[FRAMES_MAX]; /* innermost first */
};

enum owner {
    OWNER_TEST,    /* this program */
    OWNER_OURS,    /* libtalaria or a plugin */
    OWNER_LOADER,  /* the dynamic linker, for these */
    OWNER_JANSSON, /* its parser does not survive a failing allocation */
    OWNER_OTHER    /* libfabric, UCX and others */
};

/* Before anything else here: the first use allocates. */
void frames_begin(void);

/* The stack of the caller, beginning with the return address `from` if it is in
 * there. Does not allocate. */
void frames_take(struct frames *frames, const void *from);

/* Also after the objects in it were unloaded, if it was asked before. */
enum owner frames_owner(const struct frames *frames);

/* One line: object+offset of each frame. */
void frames_print(const struct frames *frames, char *text, size_t size);

#endif /* FRAMES_H */
