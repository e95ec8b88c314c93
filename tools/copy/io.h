/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing a chunk as a whole, at its place in a file. Both return 0
 * or an errno value. */
#ifndef COPY_IO_H
#define COPY_IO_H

#include <stddef.h>
#include <stdint.h>

/* ESTALE: the file ends before the chunk does. */
int copy_io_read(int fd, void *data, size_t size, uint64_t offset);

/* Blocks of zeros are left out: in a new file, whose size is set in the end,
 * they are holes. */
int copy_io_write(int fd, const void *data, size_t size, uint64_t offset);

#endif /* COPY_IO_H */
