/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk of a put through the sources of the command line. */
#ifndef COPY_TREE_H
#define COPY_TREE_H

#include "copy/pipe.h"

/* A directory that has not been read yet. */
struct copy_tree_dir {
    struct copy_tree_dir *next;
    struct copy_dir *dir;
    char *local;
    char *remote;
    size_t base; /* components of remote above the copied tree */
};

struct copy_tree {
    char **sources; /* still to be walked */
    int source_count;
    const char *into;        /* destination, "" for the top */
    struct copy_dir *parent; /* the last directory of into, or NULL */
    struct copy_tree_dir *dirs;
    bool check; /* compare existing files (--resume) */
};

/* Starts a walk and queues the directories of `into`, a valid path. sources and
 * into are borrowed. */
void copy_tree_start(struct copy_tree *tree, struct copy_pipe *pipe,
    char **sources, int count, const char *into);

/* Adds the next source, or the contents of the next directory, to the pipe; a
 * directory before its contents. Special files are reported as skipped, links
 * that may leave the tree as failed. Returns false when nothing is left. */
bool copy_tree_step(struct copy_tree *tree, struct copy_pipe *pipe);

void copy_tree_free(struct copy_tree *tree);

#endif /* COPY_TREE_H */
