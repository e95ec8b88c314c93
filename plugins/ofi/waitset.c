/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait objects put to the test: a queue's descriptor may never be quiet again
 * once it was signalled (libfabric 1.17). A wait set's, which is asked in
 * another way, is then. */
#include <poll.h>

#include "ofi.h"
#include "waitset.h"

#define COMPLETIONS 1024U /* room in the queue, as a hint */

enum object { QUEUE, SET, NEITHER };

/* Newer versions have no wait sets, nor providers that need them. */
#ifdef OFI_HAVE_WAIT_SET
static int
open_set(struct ofi_endpoint *ep)
{
    struct fi_wait_attr attr = {.wait_obj = FI_WAIT_FD};

    return fi_wait_open(ep->fabric, &attr, &ep->wait_set);
}

static bool
try_set(struct ofi_endpoint *ep)
{
    return fi_wait(ep->wait_set, 0) == -FI_ETIMEDOUT;
}
#else
static int
open_set(struct ofi_endpoint *ep)
{
    return -FI_ENOSYS;
}

static bool
try_set(struct ofi_endpoint *ep)
{
    return false;
}
#endif

static int
open_queue(struct ofi_endpoint *ep, enum object object)
{
    struct fi_cq_attr attr = {.size = COMPLETIONS,
        .format = FI_CQ_FORMAT_DATA,
        .wait_obj = object == QUEUE ? FI_WAIT_FD
                    : object == SET ? FI_WAIT_SET
                                    : FI_WAIT_NONE};
    int ret = 0;

    if (object == SET) {
        ret = open_set(ep);
        if (ret != 0)
            ep->wait_set = NULL;
        attr.wait_set = ep->wait_set;
    }
    return ret != 0 ? ret : fi_cq_open(ep->domain, &attr, &ep->cq, NULL);
}

bool
ofi_waitset_try(struct ofi_endpoint *ep)
{
    struct fid *fid = &ep->cq->fid;

    if (ep->naps)
        return true;
    if (ep->wait_set != NULL)
        return try_set(ep);
    return fi_trywait(ep->fabric, &fid, 1) == 0;
}

/* Whether the descriptor is quiet again after a signal. */
static bool
passes(struct ofi_endpoint *ep)
{
    struct fid *fid = ep->wait_set != NULL ? &ep->wait_set->fid : &ep->cq->fid;
    struct pollfd one = {.fd = -1, .events = POLLIN};

    if (fi_control(fid, FI_GETWAIT, &one.fd) != 0 || one.fd < 0)
        return false;
    ep->wait_fd = one.fd;
    if (ep->cls->conduct.trust_wait)
        return true;
    fi_cq_signal(ep->cq);
    /* the first one may find what there is to find */
    ofi_waitset_try(ep);
    ofi_waitset_try(ep);
    return poll(&one, 1, 0) == 0;
}

int
ofi_waitset_open(struct ofi_endpoint *ep, bool wanted)
{
    static const enum object objects[] = {QUEUE, SET, NEITHER};
    int ret = 0;

    bool asked = wanted || ep->cls->conduct.wants_descriptor;

    for (uint32_t i = asked ? 0 : 2; i < 3; i++) {
        ep->wait_fd = -1;
        ret = open_queue(ep, objects[i]);
        ep->can_wait = ret == 0 && objects[i] != NEITHER && passes(ep);
        bool done = ret == 0 && (ep->can_wait || objects[i] == NEITHER);
        ep->can_wait = ep->can_wait && wanted;
        if (done)
            return 0;
        if (ep->cq != NULL)
            fi_close(&ep->cq->fid);
        ep->cq = NULL;
        ofi_waitset_close(ep);
    }
    return ret;
}

void
ofi_waitset_close(struct ofi_endpoint *ep)
{
    if (ep->wait_set != NULL)
        fi_close(&ep->wait_set->fid);
    ep->wait_set = NULL;
}
