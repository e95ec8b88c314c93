/* SPDX-License-Identifier: BSD-3-Clause */
/* Sealed memory that is passed to another process by its descriptor. */
#ifndef TP_MEMFD_H
#define TP_MEMFD_H

#include <stdbool.h>
#include <stdint.h>

/* Creates zeroed memory of length bytes whose size nobody can change any more.
 * *fd_p: its descriptor, close-on-exec, the caller's to close. 0, or an errno;
 * EFBIG: the process may not create a file that large (RLIMIT_FSIZE). */
int tp_memfd_create(const char *name, uint64_t length, int *fd_p);

/* The last step before the memory is passed on: no further seals. read_only:
 * mappings made from now on cannot be written to, where the kernel knows that
 * (Linux 5.1); those that exist can. 0, or an errno. */
int tp_memfd_seal(int fd, bool read_only);

/* What an errno of tp_memfd_create means, for the log. */
const char *tp_memfd_error(int error);

/* Checks a descriptor that a peer has passed: memory of exactly length bytes
 * that cannot shrink while it is mapped, and of ordinary pages, since a huge one
 * could be missing when it is touched. NULL, or what is wrong with it. */
const char *tp_memfd_check(int fd, uint64_t length);

#endif /* TP_MEMFD_H */
