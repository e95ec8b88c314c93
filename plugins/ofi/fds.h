/* SPDX-License-Identifier: BSD-3-Clause */
/* The descriptors of this process. */
#ifndef OFI_FDS_H
#define OFI_FDS_H

/* Calls for each open descriptor. Nothing but system calls, so that it can be used
 * in a forked child. */
void ofi_fds_each(void (*visit)(int fd, void *arg), void *arg);

/* The same, where folder is /proc/self/fd, opened by the caller. */
void ofi_fds_each_in(int folder, void (*visit)(int fd, void *arg), void *arg);

#endif /* OFI_FDS_H */
