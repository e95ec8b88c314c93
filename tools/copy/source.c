/* SPDX-License-Identifier: BSD-3-Clause */
/* The local file of an item of put: opened, and checked for changes. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "copy/source.h"

/* Opens the file, which may have been replaced since the walk. */
int
copy_source_open(struct copy_item *item)
{
    struct stat st;
    int fd = open(
        item->local, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return errno;
    item->fd = fd;
    if (fstat(fd, &st) < 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return ESTALE;
    item->size = (uint64_t) st.st_size;
    item->mode = st.st_mode;
    item->mtime = copy_item_time(&st);
    return 0;
}

bool
copy_source_changed(const struct copy_item *item)
{
    struct stat st;
    copy_time_t now;

    if (fstat(item->fd, &st) < 0 || (uint64_t) st.st_size != item->size)
        return true;
    now = copy_item_time(&st);
    return now.seconds != item->mtime.seconds || now.nanos != item->mtime.nanos;
}
