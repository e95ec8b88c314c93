/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing a chunk, in spite of signals and short counts. */
#include <errno.h>
#include <unistd.h>

#include "copy_io.h"

int
copy_io_read(int fd, void *data, size_t size, uint64_t offset)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = pread(
            fd, (char *) data + done, size - done, (off_t) (offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ESTALE;
        done += (size_t) n;
    }
    return 0;
}

int
copy_io_write(int fd, const void *data, size_t size, uint64_t offset)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = pwrite(fd, (const char *) data + done, size - done,
            (off_t) (offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        done += (size_t) n;
    }
    return 0;
}
