/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions, and the descriptor that shows them. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "awkward.h"

#define MARK UINT64_C(0x61776B7761726421)

void
awkward_mark(void *context)
{
    struct fi_context2 *own = context;

    for (size_t i = 0; i < sizeof(own->internal) / sizeof(own->internal[0]);
         i++)
        own->internal[i] = (void *) (uintptr_t) (MARK + i);
}

/* A context must be unchanged while the provider has it. */
static void
check_mark(const void *context)
{
    const struct fi_context2 *own = context;

    for (size_t i = 0; i < sizeof(own->internal) / sizeof(own->internal[0]);
         i++)
        if (own->internal[i] != (void *) (uintptr_t) (MARK + i)) {
            fputs(NAME ": a context was written to while the provider has it\n",
                stderr);
            abort();
        }
}

void
awkward_complete(
    struct cq *cq, void *context, uint64_t flags, size_t length, int error)
{
    awkward_complete_at(cq, context, flags, NULL, length, error);
}

void
awkward_complete_at(struct cq *cq, void *context, uint64_t flags, void *buffer,
    size_t length, int error)
{
    cq->refused = 0;
    if (cq->count == cq->room) {
        size_t room = cq->room == 0 ? 64 : 2 * cq->room;
        struct completion *ring = malloc(room * sizeof(*ring));
        if (ring == NULL)
            abort();
        for (size_t i = 0; i < cq->count; i++)
            ring[i] = cq->ring[(cq->first + i) % cq->room];
        free(cq->ring);
        cq->ring = ring;
        cq->room = room;
        cq->first = 0;
    }
    cq->ring[(cq->first + cq->count++) % cq->room] =
        (struct completion){context, flags, buffer, length, error};
    if (cq->bell >= 0)
        eventfd_write(cq->bell, 1);
}

void
awkward_complete_send(struct cq *cq, void *context, int error)
{
    struct late_send **link = &cq->late;
    int late_send = cq->domain->set.late_send;

    if (late_send == 0) {
        awkward_complete(cq, context, FI_SEND | FI_MSG, 0, error);
        return;
    }
    struct late_send *one = malloc(sizeof(*one));
    if (one == NULL)
        abort();
    *one =
        (struct late_send){.completion = {.context = context, .error = error},
            .due = cq->reads + (uint64_t) late_send};
    while (*link != NULL)
        link = &(*link)->next;
    *link = one;
}

static void
end_late_sends(struct cq *cq)
{
    cq->reads++;
    while (cq->late != NULL && cq->late->due <= cq->reads) {
        struct late_send *one = cq->late;
        cq->late = one->next;
        awkward_complete(cq, one->completion.context, FI_SEND | FI_MSG, 0,
            one->completion.error);
        free(one);
    }
}

static void
progress(struct cq *cq)
{
    for (struct ep *ep = cq->eps; ep != NULL; ep = ep->next)
        awkward_progress(ep);
}

static struct completion
take(struct cq *cq)
{
    struct completion one = cq->ring[cq->first];

    cq->first = (cq->first + 1) % cq->room;
    cq->count--;
    check_mark(one.context);
    return one;
}

static ssize_t
cq_read(struct fid_cq *fid, void *buffer, size_t count)
{
    struct cq *cq = OBJECT(fid, struct cq, fid);
    struct fi_cq_data_entry *entries = buffer;
    size_t taken = 0;

    pthread_mutex_lock(&cq->domain->lock);
    end_late_sends(cq);
    progress(cq);
    while (taken < count && cq->count != 0 && cq->ring[cq->first].error == 0) {
        struct completion one = take(cq);
        entries[taken++] = (struct fi_cq_data_entry){.op_context = one.context,
            .flags = one.flags,
            .len = one.length,
            .buf = one.buffer};
    }
    ssize_t ret = taken != 0       ? (ssize_t) taken
                  : cq->count != 0 ? -FI_EAVAIL
                                   : -FI_EAGAIN;
    pthread_mutex_unlock(&cq->domain->lock);
    return ret;
}

static ssize_t
cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
    struct cq *cq = OBJECT(fid, struct cq, fid);
    ssize_t ret = -FI_EAGAIN;

    pthread_mutex_lock(&cq->domain->lock);
    if (cq->count != 0 && cq->ring[cq->first].error != 0) {
        struct completion one = take(cq);
        *entry = (struct fi_cq_err_entry){.op_context = one.context,
            .flags = one.flags,
            .len = one.length,
            .err = one.error};
        ret = 1;
    }
    pthread_mutex_unlock(&cq->domain->lock);
    return ret;
}

static int
cq_signal(struct fid_cq *fid)
{
    struct cq *cq = OBJECT(fid, struct cq, fid);
    return cq->bell >= 0 ? eventfd_write(cq->bell, 1) : -FI_ENOSYS;
}

int
awkward_trywait(struct cq *cq)
{
    eventfd_t rings;
    int ret = -FI_EAGAIN;

    pthread_mutex_lock(&cq->domain->lock);
    progress(cq);
    bool busy = cq->count != 0;
    for (const struct ep *ep = cq->eps; ep != NULL; ep = ep->next)
        busy = busy || ep->replies != NULL;
    if (!busy && cq->refused++ >= cq->domain->set.late_wait) {
        if (!cq->domain->set.stuck_wait)
            eventfd_read(cq->bell, &rings);
        ret = 0;
    }
    pthread_mutex_unlock(&cq->domain->lock);
    return ret;
}

static int
cq_close(struct fid *fid)
{
    struct cq *cq = OBJECT(fid, struct cq, fid.fid);

    if (cq->eps != NULL)
        return -FI_EBUSY;
    if (cq->bell >= 0) {
        close(cq->bell);
        close(cq->epoll);
    }
    while (cq->late != NULL) {
        struct late_send *one = cq->late;
        cq->late = one->next;
        free(one);
    }
    free(cq->ring);
    free(cq);
    return 0;
}

static int
cq_control(struct fid *fid, int command, void *arg)
{
    struct cq *cq = OBJECT(fid, struct cq, fid.fid);

    if (command != FI_GETWAIT || cq->bell < 0)
        return -FI_ENOSYS;
    *(int *) arg = cq->epoll;
    return 0;
}

static struct fi_ops cq_fid_ops = {
    .size = sizeof(cq_fid_ops), .close = cq_close, .control = cq_control};
static struct fi_ops_cq cq_ops = {.size = sizeof(cq_ops),
    .read = cq_read,
    .readerr = cq_readerr,
    .signal = cq_signal};

int
awkward_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
    struct fid_cq **cq_p, void *context)
{
    struct epoll_event event = {.events = EPOLLIN};
    const struct settings *set = &OBJECT(domain, struct domain, fid)->set;

    if (attr->format != FI_CQ_FORMAT_DATA ||
        (attr->wait_obj != FI_WAIT_NONE &&
            (attr->wait_obj != FI_WAIT_FD || set->no_wait)))
        return -FI_ENOSYS;
    struct cq *cq = calloc(1, sizeof(*cq));
    if (cq == NULL)
        return -FI_ENOMEM;
    cq->fid.fid.fclass = FI_CLASS_CQ;
    cq->fid.fid.ops = &cq_fid_ops;
    cq->fid.ops = &cq_ops;
    cq->domain = OBJECT(domain, struct domain, fid);
    cq->bell = -1;
    if (attr->wait_obj == FI_WAIT_FD) {
        cq->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        cq->epoll = epoll_create1(EPOLL_CLOEXEC);
        if (cq->bell < 0 || cq->epoll < 0 ||
            epoll_ctl(cq->epoll, EPOLL_CTL_ADD, cq->bell, &event) != 0)
            abort();
    }
    *cq_p = &cq->fid;
    return 0;
}
