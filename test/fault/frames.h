/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes an allocation or system call to its origin: the stack of a call,
 * and the first object in it that is not the C library or a sanitizer.
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
    OWNER_LOADER,  /* the dynamic linker, on behalf of these */
    OWNER_JANSSON, /* crashes when an allocation fails in its parser */
    OWNER_OTHER    /* libfabric, UCX and others */
};

/* Must be called first: the first use allocates. */
void frames_begin(void);

/* Stack of the caller, starting with return address `from` if it is part of it.
 * Does not allocate. */
void frames_take(struct frames *frames, const void *from);

/* Also works after an object was unloaded, if it was asked for before. */
enum owner frames_owner(const struct frames *frames);

/* One line: object+offset of each frame. */
void frames_print(const struct frames *frames, char *text, size_t size);

#endif /* FRAMES_H */
