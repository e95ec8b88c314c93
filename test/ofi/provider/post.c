/* SPDX-License-Identifier: BSD-3-Clause */
/* Submission of work to an endpoint, accepted or refused. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "wire.h"

/* Every submission is refused as often as the settings define. */
static bool
refuses(struct ep *ep)
{
    if (ep->refused++ < ep->domain->set.eagain)
        return true;
    ep->refused = 0;
    return false;
}

/* A buffer that was not released must not be posted again. */
static void
check_released(const struct ep *ep, const void *context)
{
    bool lent = ep->late == context;

    for (uint32_t i = 0; i < ep->posted; i++)
        lent = lent ||
               ep->receives[(ep->first + i) % RECEIVES_MAX].context == context;
    if (lent) {
        fputs(NAME ": a posted buffer is already in use by the provider\n",
            stderr);
        abort();
    }
}

static ssize_t
post_receive(struct ep *ep, void *buffer, size_t length, void *desc,
    void *context, bool multi)
{
    check_released(ep, context);
    if (!awkward_mr_covers(ep->domain, desc, buffer, length, FI_RECV))
        return -FI_EACCES;
    if (ep->posted == RECEIVES_MAX || refuses(ep))
        return -FI_EAGAIN;
    awkward_mark(context);
    ep->receives[(ep->first + ep->posted++) % RECEIVES_MAX] = (struct receive){
        .buffer = buffer, .length = length, .context = context, .multi = multi};
    return 0;
}

static ssize_t
ep_recv(struct fid_ep *fid, void *buffer, size_t length, void *desc,
    fi_addr_t source, void *context)
{
    struct ep *ep = OBJECT(fid, struct ep, fid);

    pthread_mutex_lock(&ep->domain->lock);
    ssize_t ret = post_receive(ep, buffer, length, desc, context, false);
    pthread_mutex_unlock(&ep->domain->lock);
    return ret;
}

static ssize_t
ep_recvmsg(struct fid_ep *fid, const struct fi_msg *message, uint64_t flags)
{
    struct ep *ep = OBJECT(fid, struct ep, fid);
    const struct iovec *part = &message->msg_iov[0];

    if (message->iov_count != 1 || ep->domain->set.multi == 0 ||
        !(flags & FI_MULTI_RECV) || part->iov_len < ep->min_multi)
        return -FI_EINVAL;
    pthread_mutex_lock(&ep->domain->lock);
    ssize_t ret = post_receive(ep, part->iov_base, part->iov_len,
        message->desc[0], message->context, true);
    pthread_mutex_unlock(&ep->domain->lock);
    return ret;
}

static ssize_t
post_send(struct ep *ep, const void *buffer, size_t length, void *desc,
    uint64_t target, void *context)
{
    const struct head head = {
        .kind = MESSAGE, .from = ep->number, .length = length};

    if (length > MESSAGE_MAX)
        return -FI_EMSGSIZE;
    if (!awkward_mr_covers(ep->domain, desc, buffer, length, FI_SEND))
        return -FI_EACCES;
    if (refuses(ep))
        return -FI_EAGAIN;
    int error = 0;
    if (++ep->sends == ep->domain->set.fail_send)
        error = ep->domain->set.error;
    else
        error = awkward_transmit(ep, target, &head, buffer, length);
    if (error == EAGAIN)
        return -FI_EAGAIN;
    awkward_mark(context);
    awkward_complete_send(ep->cq, context, error);
    return 0;
}

static ssize_t
ep_send(struct fid_ep *fid, const void *buffer, size_t length, void *desc,
    fi_addr_t addr, void *context)
{
    struct ep *ep = OBJECT(fid, struct ep, fid);

    pthread_mutex_lock(&ep->domain->lock);
    ssize_t ret =
        post_send(ep, buffer, length, desc, ep->av->numbers[addr], context);
    pthread_mutex_unlock(&ep->domain->lock);
    return ret;
}

static ssize_t
ep_inject(struct fid_ep *fid, const void *buffer, size_t length, fi_addr_t addr)
{
    struct ep *ep = OBJECT(fid, struct ep, fid);
    const struct head head = {
        .kind = MESSAGE, .from = ep->number, .length = length};
    ssize_t ret = -FI_EAGAIN;

    if (length > (size_t) ep->domain->set.inject)
        return -FI_EMSGSIZE;
    pthread_mutex_lock(&ep->domain->lock);
    if (!refuses(ep))
        ret =
            -awkward_transmit(ep, ep->av->numbers[addr], &head, buffer, length);
    pthread_mutex_unlock(&ep->domain->lock);
    return ret;
}

static ssize_t
post_rma(struct ep *ep, const struct fi_msg_rma *message, bool put)
{
    const struct iovec *local = &message->msg_iov[0];
    const struct fi_rma_iov *remote = &message->rma_iov[0];
    const struct head head = {.kind = put ? PUT : GET,
        .from = ep->number,
        .cookie = ++ep->cookie,
        .key = remote->key,
        .address = remote->addr,
        .length = local->iov_len};

    if (message->iov_count != 1 || message->rma_iov_count != 1 ||
        remote->len != local->iov_len || local->iov_len > MESSAGE_MAX)
        return -FI_EINVAL;
    if (!awkward_mr_covers(ep->domain, message->desc[0], local->iov_base,
            local->iov_len, put ? FI_WRITE : FI_READ))
        return -FI_EACCES;
    if (refuses(ep))
        return -FI_EAGAIN;
    struct rma *rma = malloc(sizeof(*rma));
    if (rma == NULL)
        return -FI_ENOMEM;
    *rma = (struct rma){.next = ep->rmas,
        .cookie = head.cookie,
        .target = ep->av->numbers[message->addr],
        .context = message->context,
        .buffer = local->iov_base,
        .length = local->iov_len,
        .put = put};
    int error = 0;
    if (++ep->transfers == ep->domain->set.fail_rma)
        error = ep->domain->set.error;
    else
        error = awkward_transmit(
            ep, rma->target, &head, local->iov_base, put ? local->iov_len : 0);
    if (error == EAGAIN) {
        free(rma);
        return -FI_EAGAIN;
    }
    awkward_mark(message->context);
    if (error == 0 && !(put && ep->domain->set.no_delivery)) {
        ep->rmas = rma;
        return 0;
    }
    free(rma);
    awkward_complete(ep->cq, message->context,
        FI_RMA | (put ? FI_WRITE : FI_READ), 0, error);
    return 0;
}

static ssize_t
ep_write(struct fid_ep *fid, const struct fi_msg_rma *message, uint64_t flags)
{
    struct ep *ep = OBJECT(fid, struct ep, fid);

    pthread_mutex_lock(&ep->domain->lock);
    ssize_t ret = ep->domain->set.no_delivery && (flags & FI_DELIVERY_COMPLETE)
                      ? -FI_EOPNOTSUPP
                      : post_rma(ep, message, true);
    pthread_mutex_unlock(&ep->domain->lock);
    return ret;
}

static ssize_t
ep_read(struct fid_ep *fid, const struct fi_msg_rma *message, uint64_t flags)
{
    struct ep *ep = OBJECT(fid, struct ep, fid);

    pthread_mutex_lock(&ep->domain->lock);
    ssize_t ret = post_rma(ep, message, false);
    pthread_mutex_unlock(&ep->domain->lock);
    return ret;
}

struct fi_ops_msg awkward_msg_ops = {.size = sizeof(awkward_msg_ops),
    .recv = ep_recv,
    .recvmsg = ep_recvmsg,
    .send = ep_send,
    .inject = ep_inject};
struct fi_ops_rma awkward_rma_ops = {
    .size = sizeof(awkward_rma_ops), .readmsg = ep_read, .writemsg = ep_write};
