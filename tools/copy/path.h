/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths beneath a directory. copy_path_check and copy_name_check validate a
 * peer's paths; the functions that open files refuse symbolic links and never
 * leave the directory, even without that check.
 *
 * Functions that return an int return 0 or an errno value as status.h defines
 * it. `root` is the directory's descriptor. */
#ifndef COPY_PATH_H
#define COPY_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "copy/proto.h"

/* Checks a path of the protocol. EXDEV: absolute or with a ".." component.
 * EINVAL: an empty or "." component, or a zero among its `length` bytes.
 * ENAMETOOLONG. The empty path is valid. */
int copy_path_check(const char *path, size_t length);

/* Checks a single component in the same way; it may not be empty. */
int copy_name_check(const char *name, size_t length);

/* Removes empty and "." components and trailing slashes from a user's path, in
 * place. A leading slash and ".." remain; the server refuses them. */
void copy_path_clean(char *path);

/* Returns "dir/name", or the one of the two that isn't empty, to be freed.
 * NULL: out of memory. */
char *copy_path_join(const char *dir, const char *name);

/* Removes trailing slashes and returns the last component within path; "" if it
 * is not a name ("", "/", ".", "a/.."). */
char *copy_path_base(char *path);

/* Opens the parent directory of `path`. *dir_p: to be closed. *name_p: points
 * into path. EINVAL: the path is empty. */
int copy_path_parent(
    int root, const char *path, int *dir_p, const char **name_p);

/* Opens a directory for reading its entries. */
int copy_path_directory(int root, const char *path, int *fd_p);

/* Opens a regular file for reading. EISDIR, ELOOP, ENXIO: not a regular
 * file. */
int copy_path_file(int root, const char *path, int *fd_p, struct stat *stat_p);

/* Returns the metadata of a path; of a symbolic link itself. */
int copy_path_stat(int root, const char *path, struct stat *stat_p);

/* Creates a directory with exactly these permission bits. *is_new_p: false if
 * it existed; it is not changed then. ENOTDIR: something else exists. */
int copy_path_mkdir(int root, const char *path, mode_t mode, bool *is_new_p);

/* Sets the permission bits of a directory, and its time if mtime has one. */
int copy_path_attr(
    int root, const char *path, mode_t mode, const copy_time_t *mtime);

/* Removes an empty directory, or anything but a directory. EPERM: the path is
 * empty. */
int copy_path_remove(int root, const char *path, bool directory);

/* Converts a time for utimensat, which leaves the access time as it is. EINVAL:
 * invalid or out of range. */
int copy_path_times(const copy_time_t *mtime, struct timespec times_p[2]);

#endif /* COPY_PATH_H */
