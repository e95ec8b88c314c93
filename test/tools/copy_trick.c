/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into one side of talaria copy: runs a shell command right before a
 * file system call, to make a race between two calls deterministic. TRICK_CALL
 * is open, stat, read, write, link or rename; TRICK_NAME the last path component, or *
 * for any; the TRICK_COUNT-th matching call triggers; TRICK_DO is the command,
 * whose parent process is that side. With TRICK_SHORT each write of more than
 * one byte writes half of them.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The wrapped function. */
static void
find_next(void *function_p, const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);

    memcpy(function_p, &symbol, sizeof symbol);
}

static const char *
last_component(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void
before(const char *call, const char *path)
{
    static atomic_int calls;
    const char *wanted = getenv("TRICK_CALL"), *name = getenv("TRICK_NAME");
    const char *count = getenv("TRICK_COUNT"), *todo = getenv("TRICK_DO");

    if (!wanted || !name || !count || !todo || strcmp(call, wanted) != 0)
        return;
    if (strcmp(name, "*") != 0 && strcmp(name, last_component(path)) != 0)
        return;
    if (atomic_fetch_add(&calls, 1) + 1 != atoi(count))
        return;
    unsetenv("LD_PRELOAD");
    if (system(todo) != 0)
        fprintf(stderr, "trick: failed: %s\n", todo);
}

int
open64(const char *path, int flags, ...)
{
    int (*next)(const char *, int, ...);
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(args, mode_t) : 0;
    va_end(args);
    before("open", path);
    find_next(&next, "open64");
    return next(path, flags, mode);
}

int
openat64(int dir, const char *path, int flags, ...)
{
    int (*next)(int, const char *, int, ...);
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(args, mode_t) : 0;
    va_end(args);
    before("open", path);
    find_next(&next, "openat64");
    return next(dir, path, flags, mode);
}

/* openat2 has no C library function. */
long
syscall(long number, ...)
{
    long (*next)(long, ...);
    long values[6];
    va_list args;

    va_start(args, number);
    for (int i = 0; i < 6; i++)
        values[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_openat2)
        before("open", (const char *) values[1]);
    find_next(&next, "syscall");
    return next(number, values[0], values[1], values[2], values[3], values[4],
        values[5]);
}

int
fstatat64(int dir, const char *path, struct stat64 *st, int flags)
{
    int (*next)(int, const char *, struct stat64 *, int);

    before("stat", path);
    find_next(&next, "fstatat64");
    return next(dir, path, st, flags);
}

/* A call on an open file. */
static void
before_by_fd(const char *call, int fd)
{
    char link[64], path[4096];
    ssize_t length;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = '\0';
    before(call, path);
}

ssize_t
pread64(int fd, void *buffer, size_t size, off64_t offset)
{
    ssize_t (*next)(int, void *, size_t, off64_t);

    before_by_fd("read", fd);
    find_next(&next, "pread64");
    return next(fd, buffer, size, offset);
}

ssize_t
pwrite64(int fd, const void *buffer, size_t size, off64_t offset)
{
    ssize_t (*next)(int, const void *, size_t, off64_t);

    before_by_fd("write", fd);
    find_next(&next, "pwrite64");
    return next(fd, buffer, getenv("TRICK_SHORT") && size > 1 ? size / 2 : size,
        offset);
}

int
linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    int (*next)(int, const char *, int, const char *, int);

    before("link", to);
    find_next(&next, "linkat");
    return next(from_dir, from, to_dir, to, flags);
}

int
renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    int (*next)(int, const char *, int, const char *);

    before("rename", to);
    find_next(&next, "renameat");
    return next(from_dir, from, to_dir, to);
}
