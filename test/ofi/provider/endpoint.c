/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints: sockets of datagrams; what is handed over, and what comes in. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "awkward.h"

#define BATCH 64U        /* datagrams in one call */
#define LOOK_NS 20000000 /* between two looks whether targets are there */

enum kind { MESSAGE, PUT, GET, ANSWER };

struct head {
    uint32_t kind;
    int32_t error;
    uint64_t from;
    uint64_t cookie;
    uint64_t key;
    uint64_t address;
    uint64_t length;
};

/* Of the process, for a forked child to close. */
static struct ep *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static socklen_t
address_of(uint64_t number, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path + 1, NAME, sizeof(NAME));
    memcpy(address->sun_path + 1 + sizeof(NAME), &number, sizeof(number));
    return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 +
                        sizeof(NAME) + sizeof(number));
}

/* One datagram. What went wrong, positive. */
static int
transmit(const struct ep *ep, uint64_t target, const struct head *head,
    const void *data, size_t length)
{
    struct sockaddr_un address;
    union {
        const void *given;
        void *taken;
    } pointers[2] = {{head}, {data}};
    struct iovec parts[2] = {
        {pointers[0].taken, sizeof(*head)}, {pointers[1].taken, length}};
    struct msghdr message = {.msg_name = &address,
        .msg_namelen = address_of(target, &address),
        .msg_iov = parts,
        .msg_iovlen = 2};

    if (sendmsg(ep->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return 0;
    return errno == ENOBUFS ? EAGAIN : errno;
}

/* Every submission is refused as often as the settings say. */
static bool
refuses(struct ep *ep)
{
    if (ep->refused++ < ep->domain->set.eagain)
        return true;
    ep->refused = 0;
    return false;
}

/* SUBMISSION */

/* A buffer that was not released must not come again. */
static void
check_released(const struct ep *ep, const void *context)
{
    bool lent = ep->late == context;

    for (uint32_t i = 0; i < ep->posted; i++)
        lent = lent ||
               ep->receives[(ep->first + i) % RECEIVES_MAX].context == context;
    if (lent) {
        fputs(NAME ": somebody posts a buffer that is lent\n", stderr);
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
        error = transmit(ep, target, &head, buffer, length);
    if (error == EAGAIN)
        return -FI_EAGAIN;
    awkward_mark(context);
    awkward_complete(ep->cq, context, FI_SEND | FI_MSG, 0, error);
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
        ret = -transmit(ep, ep->av->numbers[addr], &head, buffer, length);
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
        error = transmit(
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

/* WHAT COMES IN */

static void
answer(struct ep *ep, uint64_t target, const struct head *head,
    const void *data, size_t length)
{
    int error = transmit(ep, target, head, data, length);

    if (error != EAGAIN)
        return;
    struct reply *reply = malloc(sizeof(*reply) + sizeof(*head) + length);
    if (reply == NULL)
        abort();
    reply->target = target;
    reply->length = length;
    reply->next = ep->replies;
    memcpy(reply->bytes, head, sizeof(*head));
    if (length != 0)
        memcpy(reply->bytes + sizeof(*head), data, length);
    ep->replies = reply;
}

static void
answer_again(struct ep *ep)
{
    struct reply **link = &ep->replies;

    while (*link != NULL) {
        struct reply *reply = *link;
        struct head head;
        memcpy(&head, reply->bytes, sizeof(head));
        if (transmit(ep, reply->target, &head, reply->bytes + sizeof(head),
                reply->length) == EAGAIN) {
            link = &reply->next;
            continue;
        }
        *link = reply->next;
        free(reply);
    }
}

static void
serve(struct ep *ep, const struct head *head, const unsigned char *data,
    size_t length)
{
    bool put = head->kind == PUT;
    struct head back = {
        .kind = ANSWER, .from = ep->number, .cookie = head->cookie};
    void *memory = awkward_mr_find(ep, head->key, head->address, head->length,
        put ? FI_REMOTE_WRITE : FI_REMOTE_READ, &back.error);

    if (memory != NULL && put && length == head->length)
        memcpy(memory, data, length);
    back.length = memory != NULL && !put ? head->length : 0;
    answer(ep, head->from, &back, memory, back.length);
}

static void
settle(struct ep *ep, struct rma **link, int error)
{
    struct rma *rma = *link;

    *link = rma->next;
    awkward_complete(ep->cq, rma->context,
        FI_RMA | (rma->put ? FI_WRITE : FI_READ), 0, error);
    free(rma);
}

static void
take_answer(struct ep *ep, const struct head *head, const unsigned char *data,
    size_t length)
{
    struct rma **link = &ep->rmas;

    while (*link != NULL && (*link)->cookie != head->cookie)
        link = &(*link)->next;
    if (*link == NULL)
        return;
    if (head->error == 0 && !(*link)->put && length == (*link)->length)
        memcpy((*link)->buffer, data, length);
    settle(ep, link, head->error);
}

static void
release_late(struct ep *ep)
{
    void *context = ep->late;

    ep->late = NULL;
    if (context != NULL)
        awkward_complete(ep->cq, context, FI_MULTI_RECV, 0, 0);
}

static int
fails(struct ep *ep)
{
    return ++ep->received == ep->domain->set.fail_recv ? ep->domain->set.error
                                                       : 0;
}

/* Behind the messages that the buffer has. */
static void
take_into_multi(struct ep *ep, const unsigned char *data, size_t length)
{
    struct receive *receive = &ep->receives[ep->first];
    bool odd = ep->domain->set.multi == 2;
    size_t at = receive->used + (odd ? ++receive->taken % 8 : 0);
    bool fits = at <= receive->length && length <= receive->length - at;
    int error = fits ? fails(ep) : FI_ETRUNC;
    uint64_t flags = FI_RECV | FI_MSG;
    unsigned char *place = (unsigned char *) receive->buffer + at;
    void *context = receive->context;

    if (fits)
        memcpy(place, data, length);
    receive->used = fits ? at + length : receive->length;
    bool last = receive->length - receive->used < ep->min_multi + 8 ||
                (odd && receive->taken == 11);
    if (last) {
        ep->first = (ep->first + 1) % RECEIVES_MAX;
        ep->posted--;
    }
    flags |= last && !odd ? FI_MULTI_RECV : 0;
    if (error == 0)
        awkward_complete_at(ep->cq, context, flags, place, length, 0);
    else
        awkward_complete(ep->cq, context, flags, 0, error);
    if (last && odd) {
        release_late(ep);
        ep->late = context;
    }
}

static void
take_message(struct ep *ep, const unsigned char *data, size_t length)
{
    struct receive *receive = &ep->receives[ep->first];
    if (receive->multi) {
        take_into_multi(ep, data, length);
        return;
    }
    bool fits = length <= receive->length;

    ep->first = (ep->first + 1) % RECEIVES_MAX;
    ep->posted--;
    memcpy(receive->buffer, data, fits ? length : receive->length);
    awkward_complete(ep->cq, receive->context, FI_RECV | FI_MSG, length,
        fits ? fails(ep) : FI_ETRUNC);
}

/* Puts and gets whose target is there no more. */
static void
look(struct ep *ep)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    int64_t now = time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
    if (now - ep->looked < LOOK_NS)
        return;
    ep->looked = now;

    struct sockaddr_un address;
    struct rma **link = &ep->rmas;
    int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    while (*link != NULL) {
        socklen_t length = address_of((*link)->target, &address);
        if (connect(probe, (void *) &address, length) == 0)
            link = &(*link)->next;
        else
            settle(ep, link, FI_ECONNRESET);
    }
    close(probe);
}

void
awkward_progress(struct ep *ep)
{
    static unsigned char bytes[sizeof(struct head) + MESSAGE_MAX];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct head head;

    if (ep->replies != NULL)
        answer_again(ep);
    if (ep->rmas != NULL)
        look(ep);
    if (ep->posted == 0)
        release_late(ep);
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < BATCH; i++) {
        ssize_t got =
            recv(ep->socket, &head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);
        if (got < (ssize_t) sizeof(head) ||
            (head.kind == MESSAGE && ep->posted == 0))
            break;
        got = recv(ep->socket, bytes, sizeof(bytes), MSG_DONTWAIT);
        const unsigned char *data = bytes + sizeof(head);
        size_t length = (size_t) got - sizeof(head);
        if (head.kind == MESSAGE)
            take_message(ep, data, length);
        else if (head.kind == ANSWER)
            take_answer(ep, &head, data, length);
        else
            serve(ep, &head, data, length);
    }
    pthread_mutex_unlock(&lock);
}

/* LIFE */

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

/* Enabled: it has a name, and its queue shows what comes. */
static int
ep_control(struct fid *fid, int command, void *arg)
{
    struct ep *ep = OBJECT(fid, struct ep, fid.fid);
    struct epoll_event event = {.events = EPOLLIN};
    struct sockaddr_un address;
    socklen_t length = address_of(ep->number, &address);

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

static struct fi_ops ep_fid_ops = {.size = sizeof(ep_fid_ops),
    .close = ep_close,
    .bind = ep_bind,
    .control = ep_control};
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

static struct fi_ops_ep ep_ops = {.size = sizeof(ep_ops), .setopt = ep_setopt};
static struct fi_ops_cm cm_ops = {
    .size = sizeof(cm_ops), .getname = ep_getname};
static struct fi_ops_msg msg_ops = {.size = sizeof(msg_ops),
    .recv = ep_recv,
    .recvmsg = ep_recvmsg,
    .send = ep_send,
    .inject = ep_inject};
static struct fi_ops_rma rma_ops = {
    .size = sizeof(rma_ops), .readmsg = ep_read, .writemsg = ep_write};

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
    ep->fid.msg = &msg_ops;
    ep->fid.rma = &rma_ops;
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
