/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of endpoints: as libfabric has them, as peers pass them on, as text. */
#ifndef OFI_NAME_H
#define OFI_NAME_H

#include <sys/socket.h>

#include "common/log.h"
#include "provider.h"
#include "types.h"

#define OFI_NAME_MAX 120U /* bytes of an endpoint's name */
#define OFI_NAME_IPV4 6U  /* of a name that is an IPv4 address */
#define OFI_RAW_MAX 136U  /* bytes of a name as libfabric has it */
#define OFI_TEXT_MAX 320U /* of it as text, the zero included */

/* The name of an endpoint as peers pass it on: what stands for an IPv4 address
 * is 6 bytes, for IPv6 22, else the provider's own. */
struct ofi_name {
    uint32_t length;
    uint8_t bytes[OFI_NAME_MAX];
};

/* Checks and takes over a name of libfabric's. False: it is not one. */
bool ofi_name_from_raw(const struct ofi_trait *trait, const void *raw,
    size_t length, struct ofi_name *name);

/* The name of one end of a socket, from getsockname or getpeername. */
bool ofi_name_of_socket(const struct ofi_trait *trait, int fd,
    int (*end)(int fd, struct sockaddr *address, socklen_t *length),
    struct ofi_name *name);

/* The other way; raw has room for OFI_RAW_MAX. Its length. */
size_t ofi_name_to_raw(
    const struct ofi_trait *trait, const struct ofi_name *name, void *raw);

/* Checks bytes that a peer sent: one that ofi_name_to_raw can turn round. */
bool ofi_name_check(
    const struct ofi_trait *trait, const uint8_t *bytes, size_t length);

bool ofi_name_equal(const struct ofi_name *a, const struct ofi_name *b);

/* Writes the part after "scheme://". */
void ofi_name_print(const struct ofi_trait *trait, const struct ofi_name *name,
    char text[OFI_TEXT_MAX]);

/* Reads it, and what a user may write: a host's name is resolved, which may
 * block. INVALID_ARG, NOENTRY, with a line at level ERROR. */
int32_t ofi_name_parse(const na_plugin_host *host,
    const struct ofi_trait *trait, const char *text, int family,
    struct ofi_name *name_p);

/* The address and port of a name of an IP provider. */
socklen_t ofi_name_sockaddr(
    const struct ofi_name *name, struct sockaddr_storage *address);

#endif /* OFI_NAME_H */
