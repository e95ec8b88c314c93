/* SPDX-License-Identifier: BSD-3-Clause */
/* libfabric 1.17 keeps a get in a queue of its connection while the answer is
 * coming in, and as what is being received as well. When the connection is
 * closed then, it gives the get back twice, the second time without a context
 * (tcpx_ep_flush_all_queues), where the layer rxm looks for one
 * (rxm_handle_comp_error), and crashes. A connection that ends while it is read
 * from takes the get from the queue first. So connections are shut down here,
 * and what is in them is read to its end, before their endpoint is closed. That
 * needs nothing of a peer, which may be stopped.
 *
 * libfabric does not say which sockets are an endpoint's, and a class has other
 * connections to the same peers. The kernel says which descriptors are in an
 * epoll set: that of the class's queue has the sets of every endpoint, and those
 * of an endpoint its sockets.
 *
 * The provider net has all sockets in one set. There it takes the get that it
 * gave back twice for two free ones, and two later gets for one: so what is under
 * way is let end, if its peer goes on: a peer that shares a busy machine may need
 * most of a second for that. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "fabric.h"
#include "library.h"
#include "peer.h"
#include "progress.h"
#include "receive.h"
#include "sever.h"

#define PATIENCE_NS OFI_SECOND
#define MENDED FI_VERSION(1, 18)
#define TRIES 8U
#define NUMBERS (1U << 16) /* descriptors beyond that are not found */

bool
ofi_sever_wanted(const na_plugin_class *cls)
{
    return (cls->trait->flags & OFI_TRAIT_CLOSE_TEARS) != 0 &&
           ofi_library.version() < MENDED;
}

/* Calls for each descriptor that is in an epoll set. */
static void
each_in_set(int set, void (*visit)(int fd, void *arg), void *arg)
{
    static const char key[] = "tfd:";
    char line[256];

    snprintf(line, sizeof(line), "/proc/self/fdinfo/%d", set);
    FILE *file = fopen(line, "re");
    if (file == NULL)
        return;
    while (fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, key, sizeof(key) - 1) == 0)
            visit((int) strtol(line + sizeof(key) - 1, NULL, 10), arg);
    fclose(file);
}

struct search {
    uint64_t there[NUMBERS / 64];
    struct ofi_sets *sets;
};

static void
note(int fd, void *arg)
{
    struct search *search = arg;

    if (fd >= 0 && (unsigned) fd < NUMBERS)
        search->there[fd / 64] |= UINT64_C(1) << fd % 64;
}

static void
note_new(int fd, void *arg)
{
    const struct search *search = arg;
    struct ofi_sets *sets = search->sets;

    if (fd < 0 || (unsigned) fd >= NUMBERS ||
        (search->there[fd / 64] >> fd % 64 & 1) != 0)
        return;
    if (sets->count < OFI_SETS)
        sets->fds[sets->count++] = fd;
}

/* Opens an endpoint. *found_p: its sets are known, as far as that is possible. */
static int32_t
open_and_find(na_plugin_class *cls, struct fid_ep **ep_p, struct ofi_sets *sets,
    bool *found_p)
{
    struct search search = {.sets = sets};
    bool visible = false;

    sets->count = 0;
    each_in_set(cls->wait_fd, note, &search);
    for (uint32_t i = 0; i < NUMBERS / 64; i++)
        visible = visible || search.there[i] != 0;
    int32_t ret = ofi_fabric_rma_endpoint(cls, ep_p);
    if (ret == NA_PLUGIN_OK)
        each_in_set(cls->wait_fd, note_new, &search);
    *found_p = !visible || sets->count == OFI_SETS;
    return ret;
}

/* The queue's set does not forget the sets of an endpoint that was closed: if one
 * of the next has such a number, it is taken for the one before, and not entered.
 * Then the endpoint is replaced by another, whose sets have other numbers as long
 * as the first is open. */
int32_t
ofi_sever_open(
    na_plugin_class *cls, struct fid_ep **ep_p, struct ofi_sets *sets)
{
    struct fid_ep *spoiled[TRIES];
    uint32_t count = 0;
    bool found = false;

    sets->count = 0;
    if (!ofi_sever_wanted(cls) || cls->wait_fd < 0)
        return ofi_fabric_rma_endpoint(cls, ep_p);
    int32_t ret = open_and_find(cls, ep_p, sets, &found);
    while (ret == NA_PLUGIN_OK && !found && count < TRIES) {
        spoiled[count++] = *ep_p;
        ret = open_and_find(cls, ep_p, sets, &found);
    }
    while (count-- != 0)
        fi_close(&spoiled[count]->fid);
    return ret;
}

/* The sets have other descriptors besides: bells of libfabric's own, and the
 * socket that it listens at. */
static void
cut(int fd, void *arg)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof(address);

    (void) arg;
    if (getpeername(fd, (void *) &address, &length) == 0 &&
        (address.ss_family == AF_INET || address.ss_family == AF_INET6))
        shutdown(fd, SHUT_RDWR);
}

/* Takes what ends of what contexts that have gone had handed over. */
static void
take_back(na_plugin_class *cls)
{
    uint64_t end = ofi_peer_now() + PATIENCE_NS;

    while (cls->orphans.head != NULL && ofi_peer_now() < end) {
        uint32_t count = ofi_progress_read(cls);
        if (cls->unposted.head != NULL)
            ofi_rx_retry(cls);
        if (count == 0) {
            ofi_lock_drop(&cls->lock);
            sched_yield();
            ofi_lock_take(&cls->lock);
        }
    }
}

void
ofi_sever_endpoint(na_plugin_class *cls, const struct ofi_sets *sets)
{
    if (ofi_sever_wanted(cls)) {
        for (uint32_t i = 0; i < sets->count; i++)
            each_in_set(sets->fds[i], cut, NULL);
        take_back(cls);
    } else if ((cls->trait->flags & OFI_TRAIT_CLOSE_SPOILS) != 0 &&
               ofi_library.version() < MENDED)
        take_back(cls);
}
