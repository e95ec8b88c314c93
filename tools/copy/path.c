/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths beneath a directory: opened by openat2 where the kernel has it,
 * otherwise component by component. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "copy/path.h"

/* Permission bits that are kept: no set-user-ID or set-group-ID programs. */
#define MODE_BITS 0777

int
copy_name_check(const char *name, size_t length)
{
    if (length > COPY_NAME_MAX)
        return ENAMETOOLONG;
    if (length == 0 || memchr(name, 0, length) != NULL)
        return EINVAL;
    if (memchr(name, '/', length) != NULL)
        return EXDEV;
    if (length == 1 && name[0] == '.')
        return EINVAL;
    if (length == 2 && name[0] == '.' && name[1] == '.')
        return EXDEV;
    return 0;
}

int
copy_path_check(const char *path, size_t length)
{
    size_t start = 0;

    if (length == 0)
        return 0;
    if (path[0] == '/')
        return EXDEV;
    if (length >= COPY_PATH_SIZE)
        return ENAMETOOLONG;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && path[i] != '/')
            continue;
        int error = copy_name_check(path + start, i - start);
        if (error != 0)
            return error;
        start = i + 1;
    }
    return 0;
}

void
copy_path_clean(char *path)
{
    bool absolute = path[0] == '/';
    const char *from = path;
    char *to = path + absolute;

    while (*from != 0) {
        size_t length = strcspn(from, "/");
        if (length > 0 && !(length == 1 && from[0] == '.')) {
            if (to > path + absolute)
                *to++ = '/';
            memmove(to, from, length);
            to += length;
        }
        from += length;
        while (*from == '/')
            from++;
    }
    *to = 0;
}

char *
copy_path_join(const char *dir, const char *name)
{
    size_t dir_length = strlen(dir);
    size_t name_length = strlen(name);
    bool slash =
        dir_length > 0 && name_length > 0 && dir[dir_length - 1] != '/';
    char *path = malloc(dir_length + slash + name_length + 1);

    if (path == NULL)
        return NULL;
    memcpy(path, dir, dir_length);
    if (slash)
        path[dir_length] = '/';
    memcpy(path + dir_length + slash, name, name_length + 1);
    return path;
}

char *
copy_path_base(char *path)
{
    size_t length = strlen(path);
    char *slash;
    char *base;

    while (length > 1 && path[length - 1] == '/')
        path[--length] = 0;
    slash = strrchr(path, '/');
    base = slash == NULL ? path : slash + 1;
    if (strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return base + strlen(base);
    return base;
}

/* Whether openat2 works: the kernel may lack it, seccomp may forbid it. */
static bool
have_openat2(int root)
{
    static int have = -1;
    struct open_how how = {.flags = O_PATH | O_CLOEXEC};

    if (have < 0) {
        long fd = syscall(SYS_openat2, root, ".", &how, sizeof(how));
        if (fd >= 0)
            close((int) fd);
        have = fd >= 0;
    }
    return have;
}

/* Opens a single component. ELOOP: it is a symbolic link. */
static int
open_component(int dir, const char *name, int flags, int *fd_p)
{
    struct stat st;
    int fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 && errno == ENOTDIR && strcmp(name, ".") != 0 &&
        fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(st.st_mode))
        return ELOOP;
    if (fd < 0)
        return errno;
    *fd_p = fd;
    return 0;
}

static int
open_by_components(int root, const char *path, int flags, int *fd_p)
{
    char name[COPY_NAME_MAX + 1];
    int dir = root;
    int error;

    for (;;) {
        size_t length = strcspn(path, "/");
        bool last = path[length] == 0;
        int next = -1;

        error = copy_name_check(path, length);
        if (error == 0) {
            memcpy(name, path, length);
            name[length] = 0;
            error = open_component(
                dir, name, last ? flags : O_PATH | O_DIRECTORY, &next);
        }
        if (dir != root)
            close(dir);
        if (error != 0)
            return error;
        if (last) {
            *fd_p = next;
            return 0;
        }
        dir = next;
        path += length + 1;
    }
}

/* Opens a path beneath root without following symbolic links. */
static int
open_beneath(int root, const char *path, int flags, int *fd_p)
{
    struct open_how how = {
        .flags = (uint64_t) (flags | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    long fd;

    if (path[0] == 0)
        return open_component(root, ".", flags, fd_p);
    if (!have_openat2(root))
        return open_by_components(root, path, flags, fd_p);
    fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
    if (fd < 0)
        return errno;
    *fd_p = (int) fd;
    return 0;
}

int
copy_path_parent(int root, const char *path, int *dir_p, const char **name_p)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    char dir[COPY_PATH_SIZE] = "";
    int error = copy_name_check(name, strlen(name));

    if (error != 0)
        return error;
    if (slash != NULL) {
        size_t length = (size_t) (slash - path);
        if (length >= sizeof(dir))
            return ENAMETOOLONG;
        if (length == 0)
            return EXDEV;
        memcpy(dir, path, length);
        dir[length] = 0;
    }
    /* Not O_PATH: O_TMPFILE takes such a descriptor, fchmod doesn't. */
    error = open_beneath(root, dir, O_PATH | O_DIRECTORY, dir_p);
    if (error == 0)
        *name_p = name;
    return error;
}

int
copy_path_directory(int root, const char *path, int *fd_p)
{
    return open_beneath(root, path, O_RDONLY | O_DIRECTORY, fd_p);
}

/* Returns the error of reading something other than a regular file. */
static int
not_a_file(mode_t mode)
{
    if (S_ISREG(mode))
        return 0;
    if (S_ISDIR(mode))
        return EISDIR;
    return S_ISLNK(mode) ? ELOOP : ENXIO;
}

int
copy_path_file(int root, const char *path, int *fd_p, struct stat *stat_p)
{
    struct stat st;
    int fd = -1;
    /* Checked before it is opened: opening a device can have side effects. */
    int error = copy_path_stat(root, path, &st);

    if (error == 0)
        error = not_a_file(st.st_mode);
    if (error == 0)
        error = open_beneath(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, &fd);
    if (error != 0)
        return error;
    error = fstat(fd, &st) < 0 ? errno : not_a_file(st.st_mode);
    if (error != 0) {
        close(fd);
        return error;
    }
    *fd_p = fd;
    *stat_p = st;
    return 0;
}

int
copy_path_stat(int root, const char *path, struct stat *stat_p)
{
    const char *name = NULL;
    int dir = -1;
    int error;

    if (path[0] == 0)
        return fstat(root, stat_p) < 0 ? errno : 0;
    error = copy_path_parent(root, path, &dir, &name);
    if (error != 0)
        return error;
    if (fstatat(dir, name, stat_p, AT_SYMLINK_NOFOLLOW) < 0)
        error = errno;
    close(dir);
    return error;
}

int
copy_path_times(const copy_time_t *mtime, struct timespec times_p[2])
{
    times_p[0] = (struct timespec){.tv_nsec = UTIME_OMIT};
    times_p[1] = times_p[0];
    if (mtime->nanos == COPY_TIME_NONE)
        return 0;
    if (mtime->nanos >= 1000000000 ||
        (int64_t) (time_t) mtime->seconds != mtime->seconds)
        return EINVAL;
    times_p[1].tv_sec = (time_t) mtime->seconds;
    times_p[1].tv_nsec = (long) mtime->nanos;
    return 0;
}

int
copy_path_attr(
    int root, const char *path, mode_t mode, const copy_time_t *mtime)
{
    struct timespec times[2];
    int fd = -1;
    int error = copy_path_times(mtime, times);

    if (error == 0)
        error = copy_path_directory(root, path, &fd);
    if (error != 0)
        return error;
    if (fchmod(fd, mode & MODE_BITS) < 0 || futimens(fd, times) < 0)
        error = errno;
    close(fd);
    return error;
}

int
copy_path_remove(int root, const char *path, bool directory)
{
    const char *name = NULL;
    int dir = -1;
    int error;

    if (path[0] == 0)
        return EPERM;
    error = copy_path_parent(root, path, &dir, &name);
    if (error != 0)
        return error;
    if (unlinkat(dir, name, directory ? AT_REMOVEDIR : 0) < 0)
        error = errno == EEXIST ? ENOTEMPTY : errno;
    close(dir);
    return error;
}

/* The umask applies to mkdirat, so the bits are set again. */
static int
make_directory(int dir, const char *name, mode_t mode)
{
    int fd = -1;
    int error;

    if (mkdirat(dir, name, mode & 0700) < 0)
        return errno;
    error = open_component(dir, name, O_RDONLY | O_DIRECTORY, &fd);
    if (error != 0)
        return error;
    if (fchmod(fd, mode & MODE_BITS) < 0)
        error = errno;
    close(fd);
    return error;
}

int
copy_path_mkdir(int root, const char *path, mode_t mode, bool *is_new_p)
{
    const char *name = NULL;
    struct stat st;
    int dir = -1;
    int error;

    if (path[0] == 0) {
        *is_new_p = false;
        return 0;
    }
    error = copy_path_parent(root, path, &dir, &name);
    if (error != 0)
        return error;
    error = make_directory(dir, name, mode);
    if (error == 0) {
        *is_new_p = true;
    } else if (error == EEXIST &&
               fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        error = S_ISDIR(st.st_mode) ? 0 : S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
        if (error == 0)
            *is_new_p = false;
    }
    close(dir);
    return error;
}
