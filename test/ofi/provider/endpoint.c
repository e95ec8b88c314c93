/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of an endpoint: its name, what it is bound to, forks, its end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "wire.h"

/* Of the process, for a forked child to close. */
static struct ep *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int
ep_close(struct fid *fid)
{
    struct ep *ep = OBJECT(fid, struct ep, fid.fid);

    pthread_mutex_lock(&all_lock);
    struct ep **link = &all;
    while (*link != ep)
        link = &(*link)->next_of_all;
    *link = ep->next_of_all;
    pthread_mutex_unlock(&all_lock);

    pthread_mutex_lock(&ep->domain->lock);
    for (link = ep->cq != NULL ? &ep->cq->eps : NULL;
         link != NULL && *link != NULL;)
        if (*link == ep)
            *link = ep->next;
        else
            link = &(*link)->next;
    while (ep->rmas != NULL) {
        struct rma *rma = ep->rmas;
        ep->rmas = rma->next;
        free(rma);
    }
    while (ep->replies != NULL) {
        struct reply *reply = ep->replies;
        ep->replies = reply->next;
        free(reply);
    }
    close(ep->socket);
    pthread_mutex_unlock(&ep->domain->lock);
    free(ep);
    return 0;
}

static int
ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    struct ep *ep = OBJECT(fid, struct ep, fid.fid);

    if (other->fclass == FI_CLASS_AV)
        ep->av = OBJECT(other, struct av, fid.fid);
    else if (other->fclass == FI_CLASS_CQ)
        ep->cq = OBJECT(other, struct cq, fid.fid);
    else
        return -FI_EINVAL;
    return 0;
}

/* Enabled: it has a name, and its queue reports what arrives. */
static int
ep_control(struct fid *fid, int command, void *arg)
{
    struct ep *ep = OBJECT(fid, struct ep, fid.fid);
    struct epoll_event event = {.events = EPOLLIN};
    struct sockaddr_un address;
    socklen_t length = awkward_address(ep->number, &address);

    if (command != FI_ENABLE || ep->av == NULL || ep->cq == NULL)
        return -FI_EINVAL;
    if (bind(ep->socket, (void *) &address, length) != 0)
        return -errno;
    if (ep->cq->bell >= 0 &&
        epoll_ctl(ep->cq->epoll, EPOLL_CTL_ADD, ep->socket, &event) != 0)
        return -errno;
    pthread_mutex_lock(&ep->domain->lock);
    ep->next = ep->cq->eps;
    ep->cq->eps = ep;
    pthread_mutex_unlock(&ep->domain->lock);
    return 0;
}

static int
ep_getname(fid_t fid, void *name, size_t *length_p)
{
    struct ep *ep = OBJECT(fid, struct ep, fid.fid);
    bool fits = *length_p >= sizeof(ep->number);

    *length_p = sizeof(ep->number);
    if (fits)
        memcpy(name, &ep->number, sizeof(ep->number));
    return fits ? 0 : -FI_ETOOSMALL;
}

static void
in_child(void)
{
    for (struct ep *ep = all; ep != NULL; ep = ep->next_of_all)
        close(ep->socket);
    pthread_mutex_unlock(&all_lock);
}

static void
before_fork(void)
{
    pthread_mutex_lock(&all_lock);
}

static void
after_fork(void)
{
    pthread_mutex_unlock(&all_lock);
}

static void
watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

static int
ep_setopt(
    struct fid *fid, int level, int name, const void *value, size_t length)
{
    if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV ||
        length != sizeof(size_t))
        return -FI_ENOPROTOOPT;
    memcpy(&OBJECT(fid, struct ep, fid.fid)->min_multi, value, length);
    return 0;
}

static struct fi_ops ep_fid_ops = {.size = sizeof(ep_fid_ops),
    .close = ep_close,
    .bind = ep_bind,
    .control = ep_control};
static struct fi_ops_ep ep_ops = {.size = sizeof(ep_ops), .setopt = ep_setopt};
static struct fi_ops_cm cm_ops = {
    .size = sizeof(cm_ops), .getname = ep_getname};

int
awkward_endpoint(struct fid_domain *domain, struct fi_info *info,
    struct fid_ep **ep_p, void *context)
{
    struct ep *ep = calloc(1, sizeof(*ep));

    if (ep == NULL)
        return -FI_ENOMEM;
    pthread_once(&once, watch_forks);
    ep->domain = OBJECT(domain, struct domain, fid);
    ep->fid.fid.fclass = FI_CLASS_EP;
    ep->fid.fid.ops = &ep_fid_ops;
    ep->fid.ops = &ep_ops;
    ep->fid.cm = &cm_ops;
    ep->fid.msg = &awkward_msg_ops;
    ep->fid.rma = &awkward_rma_ops;
    ep->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (ep->socket < 0 || getrandom(&ep->number, sizeof(ep->number), 0) !=
                              (ssize_t) sizeof(ep->number)) {
        free(ep);
        return -FI_EMFILE;
    }
    pthread_mutex_lock(&all_lock);
    ep->next_of_all = all;
    all = ep;
    pthread_mutex_unlock(&all_lock);
    *ep_p = &ep->fid;
    return 0;
}
