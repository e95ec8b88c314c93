/* SPDX-License-Identifier: BSD-3-Clause */
/* Symbolic links. Whether a target stays in the tree depends on its text alone,
 * never on other files of the tree. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "copy/link.h"
#include "copy/temp.h"

size_t
copy_link_depth(const char *path)
{
    size_t depth = path[0] != 0;

    for (; *path != 0; path++)
        depth += *path == '/';
    return depth;
}

int
copy_link_check(const char *path, size_t base, const char *target)
{
    size_t depth = copy_link_depth(path);
    size_t up = depth > base + 1 ? depth - base - 1 : 0;
    bool named = false;

    if (target[0] == 0)
        return EINVAL;
    if (target[0] == '/')
        return EXDEV;
    while (*target != 0) {
        size_t length = strcspn(target, "/");
        bool parent = length == 2 && memcmp(target, "..", 2) == 0;

        if (parent && (named || up == 0))
            return EXDEV;
        if (parent)
            up--;
        else if (length > 0 && !(length == 1 && target[0] == '.'))
            named = true;
        target += length;
        target += strspn(target, "/");
    }
    return 0;
}

int
copy_link_read(int dir, const char *name, char target_p[COPY_PATH_SIZE])
{
    ssize_t length = readlinkat(dir, name, target_p, COPY_PATH_SIZE);

    if (length < 0)
        return errno;
    if (length == COPY_PATH_SIZE)
        return ENAMETOOLONG;
    target_p[length] = 0;
    return 0;
}

int
copy_link_read_beneath(
    int root, const char *path, char target_p[COPY_PATH_SIZE])
{
    const char *name = NULL;
    int dir = -1;
    int error = copy_path_parent(root, path, &dir, &name);

    if (error != 0)
        return error;
    error = copy_link_read(dir, name, target_p);
    close(dir);
    return error;
}

/* Only rename replaces atomically, so the link is created under a hidden
 * name. */
static int
replace(int dir, const char *name, const char *target,
    const struct timespec times[2])
{
    char hidden[COPY_TEMP_NAME_SIZE];
    int error = copy_temp_name(hidden);

    if (error != 0)
        return error;
    if (symlinkat(target, dir, hidden) < 0)
        return errno;
    if (utimensat(dir, hidden, times, AT_SYMLINK_NOFOLLOW) < 0 ||
        renameat(dir, hidden, dir, name) < 0) {
        error = errno;
        unlinkat(dir, hidden, 0);
    }
    return error;
}

static int
make(int dir, const char *name, const char *target,
    const struct timespec times[2], unsigned int how, bool *is_new_p)
{
    char there[COPY_PATH_SIZE];

    *is_new_p = true;
    if (symlinkat(target, dir, name) == 0)
        return utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
    if (errno != EEXIST)
        return errno;
    if ((how & COPY_HOW_RESUME) != 0 && copy_link_read(dir, name, there) == 0 &&
        strcmp(there, target) == 0) {
        *is_new_p = false;
        return 0;
    }
    return (how & COPY_HOW_REPLACE) != 0 ? replace(dir, name, target, times)
                                         : EEXIST;
}

int
copy_link_make(int root, const char *path, const char *target,
    const copy_time_t *mtime, unsigned int how, bool *is_new_p)
{
    struct timespec times[2];
    const char *name = NULL;
    int dir = -1;
    int error = copy_path_times(mtime, times);

    if (error == 0)
        error = copy_path_parent(root, path, &dir, &name);
    if (error != 0)
        return error;
    error = make(dir, name, target, times, how, is_new_p);
    close(dir);
    return error;
}
