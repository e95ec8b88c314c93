/* SPDX-License-Identifier: BSD-3-Clause */
/* Symbolic links, which are copied as links: which of them may be, reading and
 * making them.
 *
 * Functions that return an int return 0 or an errno value, in the sense of
 * status.h. `root` is a descriptor of a directory. */
#ifndef COPY_LINK_H
#define COPY_LINK_H

#include "copy/path.h"

/* Words for a link that may not be copied. */
#define COPY_LINK_LEAVES "symbolic link that may leave the tree"

/* Returns the number of components of a path. */
size_t copy_link_depth(const char *path);

/* Says whether a link at `path` stays beneath the directory that the first
 * `base` components of its path name. EXDEV: its target is absolute, or has
 * more ".." than that; also when a ".." follows a name, which may be another
 * link. EINVAL: the target is empty. */
int copy_link_check(const char *path, size_t base, const char *target);

/* Reads the target of a link. EINVAL: it is something else. ENAMETOOLONG. */
int copy_link_read(int dir, const char *name, char target_p[COPY_PATH_SIZE]);
int copy_link_read_beneath(
    int root, const char *path, char target_p[COPY_PATH_SIZE]);

/* Makes a link, in a single step, and sets its time. how: of the COPY_HOW_
 * flags. *is_new_p: false, the same was there already. EEXIST, EISDIR. */
int copy_link_make(int root, const char *path, const char *target,
    const copy_time_t *mtime, unsigned int how, bool *is_new_p);

#endif /* COPY_LINK_H */
