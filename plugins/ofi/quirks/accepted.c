/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that have not identified themselves yet: nothing in libfabric
 * refers to them when their listener is closed (1.17: tcpx_accept, and net's
 * xnet_cm.c), and they stay open. So accepted connections are noted before, and
 * those that are left are closed when libfabric has closed all that it had. */
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../ofi.h"
#include "../quirk.h"
#include "common/descriptor.h"

struct one {
    int fd;
    ino_t inode;
};

struct accepted {
    const struct ofi_endpoint *ep;
    struct one *sockets;
    uint32_t count;
    uint32_t size;
};

extern const struct ofi_quirk ofi_quirk_accepted;

/* By any libfabric: in which version this is mended is not known, and where it
 * is, no socket is left to close. Where there are no listeners, none is noted. */
static bool
applies(const struct ofi_trait *trait, uint32_t version)
{
    return trait->format == OFI_FORMAT_IP;
}

static void
list_one(int fd, void *arg)
{
    struct accepted *list = arg;
    struct ofi_name name;
    struct stat status;

    if (!ofi_name_of_socket(list->ep->cls->trait, fd, getsockname, &name) ||
        !ofi_name_equal(&name, &list->ep->own_name) || fstat(fd, &status) != 0)
        return;
    if (list->count == list->size) {
        uint32_t size = list->size == 0 ? 16 : 2 * list->size;
        void *more = realloc(list->sockets, size * sizeof(*list->sockets));
        if (more == NULL)
            return;
        list->sockets = more;
        list->size = size;
    }
    list->sockets[list->count++] =
        (struct one){.fd = fd, .inode = status.st_ino};
}

static void
closing(struct ofi_endpoint *ep, bool settled)
{
    struct accepted *list = ofi_quirk_data(ep, &ofi_quirk_accepted);

    list->ep = ep;
    if (ep->fep != NULL)
        tp_descriptors_each(list_one, list);
}

static void
closed(struct ofi_endpoint *ep)
{
    struct accepted *list = ofi_quirk_data(ep, &ofi_quirk_accepted);
    struct stat status;

    for (uint32_t i = 0; i < list->count; i++) {
        const struct one *one = &list->sockets[i];
        if (fstat(one->fd, &status) == 0 && S_ISSOCK(status.st_mode) &&
            status.st_ino == one->inode)
            close(one->fd);
    }
    free(list->sockets);
}

const struct ofi_quirk ofi_quirk_accepted = {.applies = applies,
    .data_size = sizeof(struct accepted),
    .closing = closing,
    .closed = closed};
