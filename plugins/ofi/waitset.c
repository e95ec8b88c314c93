/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait objects put to the test: a queue's descriptor may never be quiet again
 * once it was signalled (net in libfabric 1.17). A wait set's, which is asked in
 * another way, is then. */
#include <poll.h>

#include "sever.h"
#include "waitset.h"

#define COMPLETIONS 1024U /* room in the queue, as a hint */

enum object { QUEUE, SET, NEITHER };

/* Newer versions have no wait sets, nor providers that need them. */
#ifdef OFI_HAVE_WAIT_SET
static int
open_set(na_plugin_class *cls)
{
    struct fi_wait_attr attr = {.wait_obj = FI_WAIT_FD};

    return fi_wait_open(cls->fabric, &attr, &cls->wait_set);
}

static bool
try_set(na_plugin_class *cls)
{
    return fi_wait(cls->wait_set, 0) == -FI_ETIMEDOUT;
}
#else
static int
open_set(na_plugin_class *cls)
{
    (void) cls;
    return -FI_ENOSYS;
}

static bool
try_set(na_plugin_class *cls)
{
    (void) cls;
    return false;
}
#endif

static int
open_queue(na_plugin_class *cls, enum object object)
{
    struct fi_cq_attr attr = {.size = COMPLETIONS,
        .format = FI_CQ_FORMAT_DATA,
        .wait_obj = object == QUEUE ? FI_WAIT_FD
                    : object == SET ? FI_WAIT_SET
                                    : FI_WAIT_NONE};
    int ret = 0;

    if (object == SET) {
        ret = open_set(cls);
        if (ret != 0)
            cls->wait_set = NULL;
        attr.wait_set = cls->wait_set;
    }
    return ret != 0 ? ret : fi_cq_open(cls->domain, &attr, &cls->cq, NULL);
}

bool
ofi_waitset_try(na_plugin_class *cls)
{
    struct fid *fid = &cls->cq->fid;

    if (cls->naps)
        return true;
    if (cls->wait_set != NULL)
        return try_set(cls);
    return fi_trywait(cls->fabric, &fid, 1) == 0;
}

/* Whether the descriptor is quiet again after a signal. */
static bool
passes(na_plugin_class *cls)
{
    struct fid *fid =
        cls->wait_set != NULL ? &cls->wait_set->fid : &cls->cq->fid;
    struct pollfd one = {.fd = -1, .events = POLLIN};

    if (fi_control(fid, FI_GETWAIT, &one.fd) != 0 || one.fd < 0)
        return false;
    cls->wait_fd = one.fd;
    if (cls->trait->flags & OFI_TRAIT_TRUST_WAIT)
        return true;
    fi_cq_signal(cls->cq);
    /* the first one may find what there is to find */
    ofi_waitset_try(cls);
    ofi_waitset_try(cls);
    return poll(&one, 1, 0) == 0;
}

int
ofi_waitset_open(na_plugin_class *cls, bool wanted)
{
    static const enum object objects[] = {QUEUE, SET, NEITHER};
    int ret = 0;

    /* Its descriptor is asked for the endpoints' as well. */
    bool asked = wanted || ofi_sever_wanted(cls);

    for (uint32_t i = asked ? 0 : 2; i < 3; i++) {
        cls->wait_fd = -1;
        ret = open_queue(cls, objects[i]);
        cls->can_wait = ret == 0 && objects[i] != NEITHER && passes(cls);
        bool done = ret == 0 && (cls->can_wait || objects[i] == NEITHER);
        cls->can_wait = cls->can_wait && wanted;
        if (done)
            return 0;
        if (cls->cq != NULL)
            fi_close(&cls->cq->fid);
        cls->cq = NULL;
        ofi_waitset_close(cls);
    }
    return ret;
}

void
ofi_waitset_close(na_plugin_class *cls)
{
    if (cls->wait_set != NULL)
        fi_close(&cls->wait_set->fid);
    cls->wait_set = NULL;
}
