/* SPDX-License-Identifier: BSD-3-Clause */
/* Network addresses of a transport's device. */
#ifndef DEVICE_H
#define DEVICE_H

/* Returns the addresses of a network interface, or of the interfaces of an RDMA
 * device such as mlx5_0:1, with spaces between: "" if there are none. The
 * caller frees it. NULL: out of memory. */
char *device_addresses(const char *device);

#endif /* DEVICE_H */
