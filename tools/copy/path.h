/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths beneath a directory, and opening them without ever leaving it. Paths
 * that come from a peer go through copy_path_check or copy_name_check first;
 * what walks the file system doesn't rely on that, and refuses symbolic links.
 *
 * Functions that return an int return 0 or an errno value, in the sense of
 * status.h. `root` is a descriptor of the directory. */
#ifndef COPY_PATH_H
#define COPY_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "copy/proto.h"

/* Says whether a path is one of the protocol's: EXDEV, it is absolute or has a
 * ".." component; EINVAL, an empty or "." component, or a zero among its
 * `length` bytes; ENAMETOOLONG. The empty path is fine. */
int copy_path_check(const char *path, size_t length);

/* The same for a single component, which may not be empty. */
int copy_name_check(const char *name, size_t length);

/* Takes empty and "." components and trailing slashes out of what a user typed,
 * in place; a leading slash and ".." stay, to be refused. */
void copy_path_clean(char *path);

/* Returns "dir/name", or what of the two isn't empty, to be freed; NULL: no
 * memory. */
char *copy_path_join(const char *dir, const char *name);

/* Returns the last component, within path, without the trailing slashes, which
 * it takes off; "" when that is no name of its own ("", "/", ".", "a/.."). */
char *copy_path_base(char *path);

/* Opens the directory that `path` is in. *dir_p is to be closed, *name_p points
 * into path. EINVAL: the empty path isn't in anything. */
int copy_path_parent(
    int root, const char *path, int *dir_p, const char **name_p);

/* Opens a directory for reading its entries. */
int copy_path_directory(int root, const char *path, int *fd_p);

/* Opens a regular file for reading. EISDIR, ELOOP, ENXIO: it is something else.
 */
int copy_path_file(int root, const char *path, int *fd_p, struct stat *stat_p);

/* Describes what stands at a path, a symbolic link itself. */
int copy_path_stat(int root, const char *path, struct stat *stat_p);

/* Makes a directory with exactly these permission bits. *is_new_p: false when
 * it was there already, and was left as it is. ENOTDIR: something else was. */
int copy_path_mkdir(int root, const char *path, mode_t mode, bool *is_new_p);

/* Sets the permission bits of a directory, and if it has one its time. */
int copy_path_attr(
    int root, const char *path, mode_t mode, const copy_time_t *mtime);

/* Removes what stands at a path: an empty directory, or anything else. EPERM:
 * the empty path. */
int copy_path_remove(int root, const char *path, bool directory);

/* Turns a time into the two of utimensat, the first of them left out. EINVAL:
 * there is no such time. */
int copy_path_times(const copy_time_t *mtime, struct timespec times_p[2]);

#endif /* COPY_PATH_H */
