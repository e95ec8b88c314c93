/* SPDX-License-Identifier: BSD-3-Clause */
/* Between endpoints: sockets of datagrams, each with a head. */
#ifndef WIRE_H
#define WIRE_H

#include <sys/socket.h>
#include <sys/un.h>

#include "awkward.h"

enum kind { MESSAGE, PUT, GET, ANSWER };

struct head {
    uint32_t kind;
    int32_t error;
    uint64_t from;
    uint64_t cookie;
    uint64_t key;
    uint64_t address;
    uint64_t length;
};

/* The socket's name of the endpoint of this number; its length. */
socklen_t awkward_address(uint64_t number, struct sockaddr_un *address);

/* One datagram. What went wrong, positive. */
int awkward_transmit(const struct ep *ep, uint64_t target,
    const struct head *head, const void *data, size_t length);

#endif /* WIRE_H */
