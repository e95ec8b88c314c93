/* SPDX-License-Identifier: BSD-3-Clause */
/* A get: where it writes, and what of the server's tree it hasn't seen yet. */
#ifndef COPY_GET_H
#define COPY_GET_H

#include "copy/modes.h"
#include "copy/pipe.h"

struct copy_get {
    struct copy_pipe pipe;
    char **paths;                 /* of the user, not looked at yet */
    int path_count;               /* of paths */
    char *as;                     /* name for the only path, NULL: its own */
    int root;                     /* the directory that is never left */
    struct copy_remote_dir *dirs; /* found, and not listed to the end */
    struct copy_modes modes;
    bool force;
    bool resume;
};

/* Asks for the next page of a directory, or what one of the paths is. What the
 * answer has is added to the pipe; directories are made here at once. */
enum copy_step copy_remote_walk(struct copy_pipe *pipe, struct copy_slot *slot);

/* Frees what of a walk is left when it was ended early. */
void copy_remote_free(struct copy_get *get);

#endif /* COPY_GET_H */
