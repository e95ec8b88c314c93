/* SPDX-License-Identifier: BSD-3-Clause */
/* Gets that are torn when their connection is closed. libfabric 1.17 keeps a get in a queue of its connection while the answer is
 * coming in, and as what is being received as well. When the connection is
 * closed then, it gives the get back twice, the second time without a context
 * (tcpx_ep_flush_all_queues), where the layer rxm looks for one
 * (rxm_handle_comp_error), and crashes. A connection that ends while it is read
 * from takes the get from the queue first. So connections are shut down here,
 * and what is in them is read to its end, before their endpoint is closed. That
 * needs nothing of a peer, which may be stopped.
 *
 * libfabric does not report which sockets are an endpoint's, and a class has
 * other connections to the same peers. The kernel lists which descriptors are
 * in an epoll set: that of the class's queue has the sets of every endpoint,
 * and those of an endpoint its sockets.
 *
 * The provider net has all sockets in one set. There it takes the get that it
 * gave back twice for two free ones, and two later gets for one: so what is under
 * way is completed if its peer makes progress, which on a busy machine may take
 * most of a second. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../fabric.h"
#include "../ofi.h"
#include "../queue.h"
#include "../quirk.h"
#include "common/system.h"

#define PATIENCE_NS TP_SECOND
#define MENDED FI_VERSION(1, 18)
#define TRIES 8U
#define NUMBERS (1U << 16) /* descriptors beyond that are not found */
#define SETS 2U            /* epoll sets with the sockets of an endpoint */

/* The epoll sets of an endpoint for puts and gets. */
struct rma_sets {
    struct rma_sets *next;
    const struct fid_ep *fep;
    int sets[SETS];
    uint32_t count;
};

struct torn_gets {
    struct rma_sets *endpoints;
};

extern const struct ofi_quirk ofi_quirk_torn_gets;

static struct torn_gets *
data_of(const struct ofi_endpoint *ep)
{
    return ofi_quirk_data(ep, &ofi_quirk_torn_gets);
}

static bool
is_layered(const struct ofi_trait *trait)
{
    return strstr(trait->provider, ";ofi_rxm") != NULL;
}

static bool
applies(const struct ofi_trait *trait, uint32_t version)
{
    return version < MENDED && trait->conduct.probe == OFI_PROBE_PORT &&
           (is_layered(trait) || strcmp(trait->provider, "tcp") == 0 ||
               strcmp(trait->provider, "net") == 0);
}

static void
adjust(const struct ofi_trait *trait, struct ofi_conduct *conduct)
{
    conduct->wants_descriptor = is_layered(trait);
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
    struct rma_sets *endpoint;
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
    struct rma_sets *endpoint = search->endpoint;

    if (fd < 0 || (unsigned) fd >= NUMBERS ||
        (search->there[fd / 64] >> fd % 64 & 1) != 0)
        return;
    if (endpoint->count < SETS)
        endpoint->sets[endpoint->count++] = fd;
}

/* Opens an endpoint. *found_p: its sets are known, as far as that is possible. */
static int32_t
open_and_find(struct ofi_endpoint *ep, struct fid_ep **fep_p,
    struct rma_sets *endpoint, bool *found_p)
{
    struct search search = {.endpoint = endpoint};
    bool visible = false;

    endpoint->count = 0;
    each_in_set(ep->wait_fd, note, &search);
    for (uint32_t i = 0; i < NUMBERS / 64; i++)
        visible = visible || search.there[i] != 0;
    int32_t ret = ofi_fabric_rma_endpoint(ep, fep_p);
    if (ret == NA_PLUGIN_OK)
        each_in_set(ep->wait_fd, note_new, &search);
    *found_p = !visible || endpoint->count == SETS;
    return ret;
}

/* The queue's set does not forget the sets of an endpoint that was closed: if one
 * of the next has such a number, it is taken for the one before, and not entered.
 * Then the endpoint is replaced by another, whose sets have other numbers as long
 * as the first is open. */
static int32_t
open_rma(struct ofi_endpoint *ep, struct fid_ep **fep_p)
{
    struct fid_ep *spoiled[TRIES];
    uint32_t count = 0;
    bool found = false;

    if (!is_layered(ep->cls->trait) || ep->wait_fd < 0)
        return ofi_fabric_rma_endpoint(ep, fep_p);
    struct rma_sets *endpoint = malloc(sizeof(*endpoint));
    if (endpoint == NULL)
        return NA_PLUGIN_E_NOMEM;
    int32_t ret = open_and_find(ep, fep_p, endpoint, &found);
    while (ret == NA_PLUGIN_OK && !found && count < TRIES) {
        spoiled[count++] = *fep_p;
        ret = open_and_find(ep, fep_p, endpoint, &found);
    }
    while (count-- != 0)
        fi_close(&spoiled[count]->fid);
    if (ret != NA_PLUGIN_OK) {
        free(endpoint);
        return ret;
    }
    endpoint->fep = *fep_p;
    endpoint->next = data_of(ep)->endpoints;
    data_of(ep)->endpoints = endpoint;
    return NA_PLUGIN_OK;
}

/* The link to the record of an endpoint, for its removal; *link is NULL if it has
 * none. [lock] */
static struct rma_sets **
link_of(const struct ofi_endpoint *ep, const struct fid_ep *fep)
{
    struct rma_sets **link = &data_of(ep)->endpoints;

    while (*link != NULL && (*link)->fep != fep)
        link = &(*link)->next;
    return link;
}

static void
endpoint_closing(struct ofi_endpoint *ep, struct fid_ep *fep)
{
    struct rma_sets **link = link_of(ep, fep), *endpoint = *link;

    if (endpoint == NULL)
        return;
    *link = endpoint->next;
    free(endpoint);
}

/* The sets have other descriptors besides: eventfds of libfabric's own, and the
 * socket that it listens at. */
static void
cut(int fd, void *arg)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof(address);

    if (getpeername(fd, (void *) &address, &length) == 0 &&
        (address.ss_family == AF_INET || address.ss_family == AF_INET6))
        shutdown(fd, SHUT_RDWR);
}

/* Takes completions of fragments of closed contexts. */
static void
take_back(struct ofi_endpoint *ep)
{
    uint64_t end = tp_now() + PATIENCE_NS;

    while (ep->orphans.head != NULL && tp_now() < end)
        if (ofi_queue_step(ep) == 0) {
            tp_mutex_drop(&ep->lock);
            sched_yield();
            tp_mutex_take(&ep->lock);
        }
}

static void
abort_rma(struct ofi_endpoint *ep, struct fid_ep *fep)
{
    const struct rma_sets *endpoint = *link_of(ep, fep);

    for (uint32_t i = 0; endpoint != NULL && i < endpoint->count; i++)
        each_in_set(endpoint->sets[i], cut, NULL);
    take_back(ep);
}

const struct ofi_quirk ofi_quirk_torn_gets = {.applies = applies,
    .data_size = sizeof(struct torn_gets),
    .adjust = adjust,
    .open_rma = open_rma,
    .abort_rma = abort_rma,
    .endpoint_closing = endpoint_closing};
