/* SPDX-License-Identifier: BSD-3-Clause */
/* Walking the files and directories that a user named as sources. */
#ifndef COPY_TREE_H
#define COPY_TREE_H

#include "copy/pipe.h"

/* A directory that was found and hasn't been read. */
struct copy_tree_dir {
    struct copy_tree_dir *next;
    struct copy_dir *dir;
    char *local;
    char *remote;
    size_t base; /* components of remote that are above what the user named */
};

struct copy_tree {
    char **sources; /* those not looked at yet */
    int source_count;
    const char *into;        /* where they go, "" for the top */
    struct copy_dir *parent; /* of into, or NULL */
    struct copy_tree_dir *dirs;
    bool check; /* whether files are there already (--resume) */
};

/* Starts a walk: sources are the user's strings, `into` a path at the server
 * that is checked. Queues what makes the directories of `into`. */
void copy_tree_start(struct copy_tree *tree, struct copy_pipe *pipe,
    char **sources, int count, const char *into);

/* Looks at one more source, or reads one more directory: files, directories and
 * links are added to the pipe, a directory before what is in it; anything else
 * is reported as skipped, a link that may leave the tree as failed. Returns
 * false when nothing is left. */
bool copy_tree_step(struct copy_tree *tree, struct copy_pipe *pipe);

void copy_tree_free(struct copy_tree *tree);

#endif /* COPY_TREE_H */
