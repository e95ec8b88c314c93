/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes a complete chunk at an offset of a file. Both return 0 or an
 * errno value. */
#ifndef COPY_IO_H
#define COPY_IO_H

#include <stddef.h>
#include <stdint.h>

/* ESTALE: the file ends before the chunk does. */
int copy_io_read(int fd, void *data, size_t size, uint64_t offset);

/* Writes all bytes. */
int copy_io_write_all(int fd, const void *data, size_t size, uint64_t offset);

/* Skips blocks of zeros: they become holes of a new file, whose size is set
 * later. */
int copy_io_write(int fd, const void *data, size_t size, uint64_t offset);

#endif /* COPY_IO_H */
