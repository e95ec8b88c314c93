/* SPDX-License-Identifier: BSD-3-Clause */
/* Knocking at TCP ports and local sockets. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "knock.h"
#include "name.h"
#include "peer.h"
#include "route.h"

#define PATIENCE_NS (10 * OFI_SECOND) /* of one knock */
#define PREFIX "talaria-ofi/"

/* The local socket of an endpoint: in the abstract namespace, by its name. */
static socklen_t
local_address(const struct ofi_name *name, struct sockaddr_storage *address)
{
    struct sockaddr_un *un = (void *) address;
    size_t length = sizeof(PREFIX) - 1 + name->length;

    memset(address, 0, sizeof(*address));
    un->sun_family = AF_UNIX;
    if (length > sizeof(un->sun_path) - 1)
        length = sizeof(un->sun_path) - 1;
    memcpy(un->sun_path + 1, PREFIX, sizeof(PREFIX) - 1);
    memcpy(un->sun_path + sizeof(PREFIX), name->bytes,
        length - (sizeof(PREFIX) - 1));
    return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

/* Connecting to a local socket for datagrams says at once whether it is there,
 * and leaves nothing behind at it. */
static int
kind_of(const na_plugin_class *cls)
{
    return cls->trait->flags & OFI_TRAIT_NODE ? SOCK_DGRAM : SOCK_STREAM;
}

static socklen_t
address_of(const na_plugin_class *cls, const na_plugin_addr *peer,
    struct sockaddr_storage *address)
{
    return cls->trait->flags & OFI_TRAIT_TCP
               ? ofi_name_sockaddr(peer->end, address)
               : local_address(peer->end, address);
}

void
ofi_knock_end(na_plugin_addr *peer)
{
    if (peer->knock >= 0)
        close(peer->knock);
    peer->knock = -1;
}

/* A result: 0, or why not. */
static void
conclude(na_plugin_class *cls, na_plugin_addr *peer, int error)
{
    ofi_knock_end(peer);
    if (error == 0)
        return;
    peer->doubted = true;
    ofi_route_detour(cls, peer);
    ofi_peer_lose(cls, peer, NA_PLUGIN_E_HOSTUNREACH, strerror(error));
}

void
ofi_knock_begin(na_plugin_class *cls, na_plugin_addr *peer, uint64_t now)
{
    struct sockaddr_storage address;
    socklen_t length = address_of(cls, peer, &address);

    peer->knocked_ns = now;
    if (peer->knock >= 0)
        return;
    peer->knock = socket(
        address.ss_family, kind_of(cls) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (peer->knock < 0)
        return;
    cls->counters.knocks++;
    if (connect(peer->knock, (const void *) &address, length) == 0)
        conclude(cls, peer, 0);
    else if (errno != EINPROGRESS)
        conclude(cls, peer, errno);
}

void
ofi_knock_look(na_plugin_class *cls, na_plugin_addr *peer, uint64_t now)
{
    struct pollfd wanted = {.fd = peer->knock, .events = POLLOUT};
    int error = 0;
    socklen_t length = sizeof(error);

    if (peer->knock < 0)
        return;
    if (poll(&wanted, 1, 0) > 0 &&
        getsockopt(peer->knock, SOL_SOCKET, SO_ERROR, &error, &length) == 0)
        conclude(cls, peer, error);
    else if (now - peer->knocked_ns > PATIENCE_NS)
        conclude(cls, peer, ETIMEDOUT);
}

bool
ofi_knock_answers(const struct ofi_name *name)
{
    struct sockaddr_storage address;
    socklen_t length = local_address(name, &address);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    bool refused = fd >= 0 &&
                   connect(fd, (const void *) &address, length) != 0 &&
                   errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return !refused;
}

int32_t
ofi_knock_listen(na_plugin_class *cls)
{
    struct sockaddr_storage address;
    socklen_t length = local_address(&cls->self->name, &address);

    if (!(cls->trait->flags & OFI_TRAIT_NODE))
        return NA_PLUGIN_OK;
    cls->listener =
        socket(AF_UNIX, kind_of(cls) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (cls->listener >= 0 &&
        bind(cls->listener, (const void *) &address, length) == 0)
        return NA_PLUGIN_OK;
    OFI_LOG(cls->host, ERROR, "no local socket to be known by: %s",
        strerror(errno));
    return NA_PLUGIN_E_ADDRINUSE;
}
