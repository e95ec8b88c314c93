/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens partial files. Their names can be predicted, and the directory may be
 * writable for other users, so each file is checked after it is opened. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "copy/io.h"
#include "copy/partial.h"

#define PREFIX ".talaria-resume-"
#define SUFFIX ".part"
#define DIGITS 16
#define PARTIAL_MODE 0600

/* The final name may be as long as a name can be, so this one has its hash. Two
 * files of a directory with the same hash take turns, since chunks are
 * compared. */
static void
partial_name(const char *name, char partial_p[COPY_TEMP_NAME_SIZE])
{
    snprintf(partial_p, COPY_TEMP_NAME_SIZE, PREFIX "%016" PRIx64 SUFFIX,
        (uint64_t) XXH3_64bits(name, strlen(name)));
}

bool
copy_partial_is_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    size_t prefix = sizeof(PREFIX) - 1;

    return strncmp(name, PREFIX, prefix) == 0 &&
           strspn(name + prefix, "0123456789abcdef") == DIGITS &&
           strcmp(name + prefix + DIGITS, SUFFIX) == 0;
}

/* Whether `name` is that of an open file. */
static bool
is_named(int dir, const char *name, const struct stat *st)
{
    struct stat named;

    return fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_dev == st->st_dev && named.st_ino == st->st_ino;
}

/* Whether an open file is a partial file of this user's with one name. A second
 * name could be that of any file of the user's. */
static bool
is_ours(const struct stat *st)
{
    return S_ISREG(st->st_mode) && (st->st_mode & 07777) == PARTIAL_MODE &&
           st->st_uid == geteuid() && st->st_nlink == 1;
}

/* Opens and locks a partial file; `create`: O_CREAT | O_EXCL or 0. Returns its
 * descriptor, or -1. */
static int
open_partial(int dir, const char *name, int create, struct stat *stat_p)
{
    bool usable;
    int fd = openat(dir, name,
        create | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
        PARTIAL_MODE);

    if (fd < 0)
        return -1;
    /* The process that had it may have renamed it before it unlocked it. */
    usable = flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, stat_p) == 0 &&
             is_named(dir, name, stat_p);
    if (usable && is_ours(stat_p))
        return fd;
    /* This file system gives new files another owner or mode. */
    if (usable && create != 0)
        unlinkat(dir, name, 0);
    close(fd);
    return -1;
}

int
copy_partial_create(
    int dir, const char *name, struct copy_temp *temp_p, uint64_t *have_p)
{
    char partial[COPY_TEMP_NAME_SIZE];
    struct stat st;
    int fd;

    partial_name(name, partial);
    fd = open_partial(dir, partial, 0, &st);
    if (fd < 0)
        fd = open_partial(dir, partial, O_CREAT | O_EXCL, &st);
    if (fd < 0) {
        *have_p = 0;
        return copy_temp_create(dir, temp_p);
    }
    *temp_p = (struct copy_temp){.dir = dir, .fd = fd, .keep = true};
    memcpy(temp_p->name, partial, sizeof(partial));
    *have_p = (uint64_t) st.st_size;
    return 0;
}

void
copy_partial_remove(int dir, const char *name)
{
    char partial[COPY_TEMP_NAME_SIZE];
    struct stat st;
    int fd;

    partial_name(name, partial);
    fd = open_partial(dir, partial, 0, &st);
    if (fd < 0)
        return;
    unlinkat(dir, partial, 0);
    close(fd);
}

int
copy_partial_clear(int fd, size_t size, uint64_t offset)
{
    static const char zeros[64 << 10];

    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            (off_t) offset, (off_t) size) == 0)
        return 0;
    while (size > 0) {
        size_t step = size < sizeof(zeros) ? size : sizeof(zeros);
        int error = copy_io_write_all(fd, zeros, step, offset);
        if (error != 0)
            return error;
        offset += step;
        size -= step;
    }
    return 0;
}
