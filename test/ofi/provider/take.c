/* SPDX-License-Identifier: BSD-3-Clause */
/* What arrives at an endpoint: messages, puts and gets to serve, answers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

#define BATCH 64U        /* datagrams in one call */
#define LOOK_NS 20000000 /* between two looks whether targets are there */

static void
answer(struct ep *ep, uint64_t target, const struct head *head,
    const void *data, size_t length)
{
    int error = awkward_transmit(ep, target, head, data, length);

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
        if (awkward_transmit(ep, reply->target, &head,
                reply->bytes + sizeof(head), reply->length) == EAGAIN) {
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
fails(struct ep *ep, bool fills)
{
    int which = ep->domain->set.fail_recv;
    bool does = ++ep->received == which || (fills && which < 0);

    return does ? ep->domain->set.error : 0;
}

/* Behind the messages that the buffer has. */
static void
take_into_multi(struct ep *ep, const unsigned char *data, size_t length)
{
    struct receive *receive = &ep->receives[ep->first];
    bool odd = ep->domain->set.multi == 2;
    size_t at = receive->used + (odd ? ++receive->taken % 8 : 0);
    bool fits = at <= receive->length && length <= receive->length - at;
    uint64_t flags = FI_RECV | FI_MSG;
    unsigned char *place = (unsigned char *) receive->buffer + at;
    void *context = receive->context;

    if (fits)
        memcpy(place, data, length);
    receive->used = fits ? at + length : receive->length;
    bool last = receive->length - receive->used < ep->min_multi + 8 ||
                (odd && receive->taken == 11);
    int error = fits ? fails(ep, last) : FI_ETRUNC;

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
        fits ? fails(ep, false) : FI_ETRUNC);
}

/* Fails puts and gets whose target has ended. */
static void
look(struct ep *ep)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    int64_t now = time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
    if (now - ep->checked_ns < LOOK_NS)
        return;
    ep->checked_ns = now;

    struct sockaddr_un address;
    struct rma **link = &ep->rmas;
    int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    while (*link != NULL) {
        socklen_t length = awkward_address((*link)->target, &address);
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
