/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of endpoints, and one datagram to one of them. */
#include "wire.h"

#include <errno.h>
#include <string.h>

socklen_t
awkward_address(uint64_t number, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path + 1, NAME, sizeof(NAME));
    memcpy(address->sun_path + 1 + sizeof(NAME), &number, sizeof(number));
    return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 +
                        sizeof(NAME) + sizeof(number));
}

int
awkward_transmit(const struct ep *ep, uint64_t target, const struct head *head,
    const void *data, size_t length)
{
    struct sockaddr_un address;
    union {
        const void *given;
        void *taken;
    } pointers[2] = {{head}, {data}};
    struct iovec parts[2] = {
        {pointers[0].taken, sizeof(*head)}, {pointers[1].taken, length}};
    struct msghdr message = {.msg_name = &address,
        .msg_namelen = awkward_address(target, &address),
        .msg_iov = parts,
        .msg_iovlen = 2};

    if (sendmsg(ep->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return 0;
    return errno == ENOBUFS ? EAGAIN : errno;
}
