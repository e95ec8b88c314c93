/* SPDX-License-Identifier: BSD-3-Clause */
/* libfabric opens sockets without close-on-exec, and does not report which. A
 * child with such a socket keeps a dead process's connections and ports alive.
 * They are known by their ends: a class's own port, or a peer's address. */
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../endpoints.h"
#include "../peer.h"
#include "../quirk.h"
#include "common/descriptor.h"
#include "common/system.h"

#define SCAN_NS (20 * TP_MS) /* between two looks at all descriptors */

struct descriptors {
    uint64_t scanned_ns;
};

/* Which there were before libfabric opened its own; of one thread at a time. */
static struct tp_descriptors before;

static pthread_once_t once = PTHREAD_ONCE_INIT;

extern const struct ofi_quirk ofi_quirk_descriptors;

/* Whether a socket is one of libfabric's for this class. */
static bool
is_ours(struct ofi_endpoint *ep, int fd)
{
    struct ofi_name name;

    if (fd == ep->listener || ofi_quirk_owns_descriptor(ep, fd))
        return true;
    if (ep->cls->trait->format != OFI_FORMAT_IP)
        return false;
    if (ofi_name_of_socket(ep->cls->trait, fd, getsockname, &name) &&
        ofi_name_equal(&name, &ep->own_name))
        return true;
    return ofi_name_of_socket(ep->cls->trait, fd, getpeername, &name) &&
           ofi_peer_is_known(ep, &name);
}

static void
before_fork(void)
{
    pthread_mutex_lock(&ofi_endpoints.lock);
    for (struct ofi_endpoint *ep = ofi_endpoints.first; ep != NULL;
         ep = ep->next)
        tp_mutex_take(&ep->lock);
}

static void
after_fork(void)
{
    for (struct ofi_endpoint *ep = ofi_endpoints.first; ep != NULL;
         ep = ep->next)
        tp_mutex_drop(&ep->lock);
    pthread_mutex_unlock(&ofi_endpoints.lock);
}

static void
close_ours(int fd, void *arg)
{
    for (struct ofi_endpoint *ep = ofi_endpoints.first; ep != NULL;
         ep = ep->next)
        if (is_ours(ep, fd)) {
            close(fd);
            return;
        }
}

static void
in_child(void)
{
    if (ofi_endpoints.first != NULL)
        tp_descriptors_each(close_ours, NULL);
    after_fork();
}

static void
begin(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

static void
prepare(void)
{
    memset(&before, 0, sizeof(before));
    tp_descriptors_note(&before);
}

/* Descriptors that appeared while libfabric was opening, but for files. */
static void
mark_new(int fd, void *arg)
{
    struct stat status;

    if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode) &&
        !S_ISDIR(status.st_mode))
        tp_close_on_exec(fd);
}

static void
joined(struct ofi_endpoint *ep)
{
    tp_descriptors_each_new(&before, mark_new, NULL);
    pthread_once(&once, begin);
}

/* The endpoint for puts and gets, which a class opens later, listens at a port
 * of its own. */
struct listener {
    const struct ofi_trait *trait;
    struct ofi_name name;
};

static void
mark_listener(int fd, void *arg)
{
    const struct listener *listener = arg;
    struct ofi_name name;

    if (ofi_name_of_socket(listener->trait, fd, getsockname, &name) &&
        ofi_name_equal(&name, &listener->name))
        tp_close_on_exec(fd);
}

static void
endpoint_opened(struct ofi_endpoint *ep, struct fid_ep *fep)
{
    struct listener listener = {.trait = ep->cls->trait};
    uint64_t raw[OFI_RAW_MAX / 8];
    size_t length = sizeof(raw);

    if (listener.trait->format == OFI_FORMAT_IP &&
        fi_getname(&fep->fid, raw, &length) == 0 && length <= sizeof(raw) &&
        ofi_name_from_raw(listener.trait, raw, length, &listener.name))
        tp_descriptors_each(mark_listener, &listener);
}

static void
mark_ours(int fd, void *arg)
{
    if (is_ours(arg, fd))
        tp_close_on_exec(fd);
}

/* Marks sockets of connections that were opened meanwhile; at once, or, if that
 * was done just before, by a later call. */
static bool
work(struct ofi_endpoint *ep, bool rare)
{
    struct descriptors *descriptors =
        ofi_quirk_data(ep, &ofi_quirk_descriptors);

    if (!ep->connects)
        return false;
    uint64_t now = tp_now();
    if (now - descriptors->scanned_ns < SCAN_NS)
        return true;
    tp_descriptors_each(mark_ours, ep);
    descriptors->scanned_ns = now;
    ep->connects = false;
    return false;
}

const struct ofi_quirk ofi_quirk_descriptors = {
    .data_size = sizeof(struct descriptors),
    .prepare = prepare,
    .joined = joined,
    .endpoint_opened = endpoint_opened,
    .work = work};
