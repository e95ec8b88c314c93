/* SPDX-License-Identifier: BSD-3-Clause */
/* Symbolic links: which of them may be copied, reading and creating them.
 *
 * Functions that return an int return 0 or an errno value as status.h defines
 * it. `root` is a directory's descriptor. */
#ifndef COPY_LINK_H
#define COPY_LINK_H

#include "copy/path.h"

/* The error of a link that may not be copied. */
#define COPY_LINK_LEAVES "symbolic link that may leave the tree"

/* Returns the number of components of a path. */
size_t copy_link_depth(const char *path);

/* Checks that a link at `path` stays beneath the directory that the first
 * `base` components of its path name. EXDEV: the target is absolute, has too
 * many "..", or a ".." after a name, which may be another link. EINVAL: it is
 * empty. */
int copy_link_check(const char *path, size_t base, const char *target);

/* Reads the target of a link. EINVAL: not a link. ENAMETOOLONG. */
int copy_link_read(int dir, const char *name, char target_p[COPY_PATH_SIZE]);
int copy_link_read_beneath(
    int root, const char *path, char target_p[COPY_PATH_SIZE]);

/* Creates or replaces a link atomically and sets its time. how: COPY_HOW_
 * flags. *is_new_p: false if the same link existed. EEXIST, EISDIR. */
int copy_link_make(int root, const char *path, const char *target,
    const copy_time_t *mtime, unsigned int how, bool *is_new_p);

#endif /* COPY_LINK_H */
