/* SPDX-License-Identifier: BSD-3-Clause */
/* Probing TCP ports and local sockets. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "address.h"
#include "common/system.h"
#include "ofi.h"
#include "probe.h"

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

/* Connecting to a local datagram socket shows at once whether it exists, and
 * has no effect on it. */
static int
kind_of(const struct ofi_endpoint *ep)
{
    return ep->cls->conduct.probe == OFI_PROBE_LOCAL ? SOCK_DGRAM : SOCK_STREAM;
}

static socklen_t
address_of(const struct ofi_endpoint *ep, const struct ofi_peer *peer,
    struct sockaddr_storage *address)
{
    return ep->cls->conduct.probe == OFI_PROBE_PORT
               ? ofi_name_sockaddr(peer->name, address)
               : local_address(peer->name, address);
}

void
ofi_probe_end(struct ofi_peer *peer)
{
    if (peer->probe_fd >= 0)
        close(peer->probe_fd);
    peer->probe_fd = -1;
}

int
ofi_probe_begin(struct ofi_endpoint *ep, struct ofi_peer *peer, uint64_t now,
    uint64_t patience_ns)
{
    struct sockaddr_storage address;
    socklen_t length = address_of(ep, peer, &address);
    int error = 0;

    if (peer->probe_fd >= 0)
        return 0;
    peer->probed_ns = now;
    peer->probe_end_ns = now + patience_ns;
    peer->probe_fd = socket(
        address.ss_family, kind_of(ep) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (peer->probe_fd < 0)
        return 0;
    ep->counters.probes++;
    if (connect(peer->probe_fd, (const void *) &address, length) != 0)
        error = errno;
    if (error == EINPROGRESS)
        return 0;
    ofi_probe_end(peer);
    return error;
}

int
ofi_probe_look(struct ofi_peer *peer, uint64_t now)
{
    struct pollfd wanted = {.fd = peer->probe_fd, .events = POLLOUT};
    int error = 0;
    socklen_t length = sizeof(error);

    if (peer->probe_fd < 0)
        return 0;
    if (poll(&wanted, 1, 0) <= 0 || getsockopt(peer->probe_fd, SOL_SOCKET,
                                        SO_ERROR, &error, &length) != 0) {
        if (now < peer->probe_end_ns)
            return 0;
        error = ETIMEDOUT;
    }
    ofi_probe_end(peer);
    return error;
}

bool
ofi_probe_answers(const struct ofi_name *name)
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
ofi_probe_listen(struct ofi_endpoint *ep)
{
    struct sockaddr_storage address;
    socklen_t length = local_address(ep->self->name, &address);

    if (ep->cls->conduct.probe != OFI_PROBE_LOCAL)
        return NA_PLUGIN_OK;
    ep->listener =
        socket(AF_UNIX, kind_of(ep) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (ep->listener >= 0 &&
        bind(ep->listener, (const void *) &address, length) == 0)
        return NA_PLUGIN_OK;
    TP_LOG(ep->cls->host, ERROR,
        "cannot bind the local socket that peers probe: %s", strerror(errno));
    return NA_PLUGIN_E_ADDRINUSE;
}
