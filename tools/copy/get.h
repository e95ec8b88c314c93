/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a get: its target, and the server's paths still to be walked. */
#ifndef COPY_GET_H
#define COPY_GET_H

#include "copy/modes.h"
#include "copy/pipe.h"

struct copy_get {
    struct copy_pipe pipe;
    char **paths; /* of the command line, still to be walked */
    int path_count;
    char *as;                     /* name for the only path, NULL: its own */
    int root;                     /* descriptor of the target directory */
    struct copy_remote_dir *dirs; /* not listed completely yet */
    struct copy_modes modes;
    bool force;
    bool resume;
};

/* Requests the next page of a directory, or the type of one of the paths. Files
 * and links of the answer are added to the pipe; directories are created at
 * once. */
enum copy_step copy_remote_walk(struct copy_pipe *pipe, struct copy_slot *slot);

/* Frees the directories of a walk that ended early. */
void copy_remote_free(struct copy_get *get);

#endif /* COPY_GET_H */
