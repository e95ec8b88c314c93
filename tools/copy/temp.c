/* SPDX-License-Identifier: BSD-3-Clause */
/* Unnamed files, and publishing them atomically. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/path.h"
#include "copy/temp.h"

/* Attempts to find a free hidden name of 64 random bits. */
#define NAME_TRIES 8

int
copy_temp_name(char name_p[COPY_TEMP_NAME_SIZE])
{
    uint64_t number;

    if (getrandom(&number, sizeof(number), 0) != (ssize_t) sizeof(number))
        return EIO;
    snprintf(
        name_p, COPY_TEMP_NAME_SIZE, ".talaria-%016" PRIx64 ".part", number);
    return 0;
}

/* The path by which an unnamed file can be linked. */
static void
descriptor_path(int fd, char *path, size_t size)
{
    snprintf(path, size, "/proc/self/fd/%d", fd);
}

/* Without /proc an unnamed file cannot be linked. */
static bool
can_be_linked(int fd)
{
    static int can = -1;
    char path[64];

    if (can < 0) {
        descriptor_path(fd, path, sizeof(path));
        can = access(path, F_OK) == 0;
    }
    return can;
}

/* *fd_p: -1 if the file system does not support O_TMPFILE. */
static int
create_nameless(int dir, int *fd_p)
{
    int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0 && errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT &&
        errno != EINVAL)
        return errno;
    if (fd >= 0 && !can_be_linked(fd)) {
        close(fd);
        fd = -1;
    }
    *fd_p = fd;
    return 0;
}

int
copy_temp_create(int dir, struct copy_temp *temp_p)
{
    char name[sizeof(temp_p->name)] = "";
    int fd = -1;
    int error = create_nameless(dir, &fd);

    if (error != 0)
        return error;
    for (int i = 0; fd < 0; i++) {
        error = copy_temp_name(name);
        if (error != 0)
            return error;
        fd = openat(dir, name,
            O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0 && (errno != EEXIST || i == NAME_TRIES))
            return errno;
    }
    *temp_p = (struct copy_temp){.dir = dir, .fd = fd};
    memcpy(temp_p->name, name, sizeof(name));
    return 0;
}

/* By the descriptor, which is faster, if the kernel permits it: before Linux 6.10 it
 * wants CAP_DAC_READ_SEARCH, and says ENOENT. */
static int
link_nameless(const struct copy_temp *temp, const char *name)
{
    static _Atomic bool forbidden;
    char path[64];

    if (!atomic_load_explicit(&forbidden, memory_order_relaxed)) {
        if (linkat(temp->fd, "", temp->dir, name, AT_EMPTY_PATH) == 0)
            return 0;
        if (errno != ENOENT)
            return errno;
        atomic_store_explicit(&forbidden, true, memory_order_relaxed);
    }
    descriptor_path(temp->fd, path, sizeof(path));
    if (linkat(AT_FDCWD, path, temp->dir, name, AT_SYMLINK_FOLLOW) < 0)
        return errno;
    return 0;
}

/* Only rename replaces atomically, and it needs a file with a name. */
static int
give_hidden_name(struct copy_temp *temp)
{
    char name[sizeof(temp->name)];
    int error = EEXIST;

    for (int i = 0; error == EEXIST && i < NAME_TRIES; i++) {
        error = copy_temp_name(name);
        if (error == 0)
            error = link_nameless(temp, name);
    }
    if (error == 0)
        memcpy(temp->name, name, sizeof(name));
    return error;
}

static int
rename_over(struct copy_temp *temp, const char *name)
{
    if (renameat(temp->dir, temp->name, temp->dir, name) < 0)
        return errno;
    temp->name[0] = 0;
    return 0;
}

static int
rename_fresh(struct copy_temp *temp, const char *name)
{
    if (renameat2(temp->dir, temp->name, temp->dir, name, RENAME_NOREPLACE) <
        0) {
        if (errno != EINVAL && errno != ENOSYS)
            return errno;
        /* The file system lacks that flag; link does not replace either. */
        if (linkat(temp->dir, temp->name, temp->dir, name, 0) < 0)
            return errno;
        unlinkat(temp->dir, temp->name, 0);
    }
    temp->name[0] = 0;
    return 0;
}

static void
close_both(const struct copy_temp *temp)
{
    close(temp->fd);
    if (!temp->shares_dir)
        close(temp->dir);
}

int
copy_temp_publish(
    struct copy_temp *temp, const char *name, const struct copy_final *final)
{
    struct timespec times[2];
    bool replace = final->replace;
    int error = copy_path_times(&final->mtime, times);

    if (error != 0)
        return error;
    if ((!final->last_written &&
            ftruncate(temp->fd, (off_t) final->size) < 0) ||
        fchmod(temp->fd, final->mode & 0777) < 0 ||
        futimens(temp->fd, times) < 0)
        return errno;
    if (temp->name[0] == 0) {
        error = link_nameless(temp, name);
        if (error == EEXIST && replace) {
            error = give_hidden_name(temp);
            if (error == 0)
                error = rename_over(temp, name);
        }
    } else {
        error = replace ? rename_over(temp, name) : rename_fresh(temp, name);
    }
    if (error != 0)
        return error;
    close_both(temp);
    return 0;
}

void
copy_temp_drop(struct copy_temp *temp)
{
    if (temp->name[0] != 0)
        unlinkat(temp->dir, temp->name, 0);
    close_both(temp);
}

void
copy_temp_leave(struct copy_temp *temp)
{
    struct stat st;

    if (!temp->keep || fstat(temp->fd, &st) < 0 || st.st_size == 0) {
        copy_temp_drop(temp);
        return;
    }
    close_both(temp);
}
