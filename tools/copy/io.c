/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes complete chunks, after signals and short counts too. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "copy/io.h"

/* The usual block size of file systems; no hole is smaller. */
#define BLOCK_SIZE ((size_t) 4096)

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
copy_io_write_all(int fd, const void *data, size_t size, uint64_t offset)
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

static bool
is_zero(const char *data, size_t size)
{
    return data[0] == 0 && memcmp(data, data + 1, size - 1) == 0;
}

int
copy_io_write(int fd, const void *data, size_t size, uint64_t offset)
{
    const char *bytes = data;
    size_t start = 0; /* of the bytes to write */

    for (size_t at = 0; at < size;) {
        size_t step = size - at < BLOCK_SIZE ? size - at : BLOCK_SIZE;
        bool zero = is_zero(bytes + at, step);

        if (zero && start < at) {
            int error = copy_io_write_all(
                fd, bytes + start, at - start, offset + start);
            if (error != 0)
                return error;
        }
        at += step;
        if (zero)
            start = at;
    }
    return copy_io_write_all(fd, bytes + start, size - start, offset + start);
}
