/* SPDX-License-Identifier: BSD-3-Clause */
/* Events, by eventfd, and sets of descriptors, by epoll: the kernel keeps what
 * is in a set, and the caller's data. */
#include "mercury_event.h"
#include "mercury_poll.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENTS_AT_ONCE 64U

struct hg_poll_set {
    _Atomic unsigned int count; /* descriptors in it */
    int fd;
};

int
hg_event_create(void)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

    return fd < 0 ? HG_UTIL_FAIL : fd;
}

int
hg_event_destroy(int fd)
{
    return close(fd) < 0 ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

/* EAGAIN: the counter is at its maximum, so the event is set. */
int
hg_event_set(int fd)
{
    return eventfd_write(fd, 1) < 0 && errno != EAGAIN ? HG_UTIL_FAIL
                                                       : HG_UTIL_SUCCESS;
}

int
hg_event_get(int fd, bool *notified)
{
    eventfd_t count;

    if (eventfd_read(fd, &count) == 0)
        *notified = true;
    else if (errno == EAGAIN)
        *notified = false;
    else
        return HG_UTIL_FAIL;
    return HG_UTIL_SUCCESS;
}

hg_poll_set_t *
hg_poll_create(void)
{
    struct hg_poll_set *set = calloc(1, sizeof *set);

    if (!set)
        return NULL;
    set->fd = epoll_create1(EPOLL_CLOEXEC);
    if (set->fd < 0) {
        free(set);
        return NULL;
    }
    return set;
}

int
hg_poll_destroy(hg_poll_set_t *poll_set)
{
    if (!poll_set)
        return HG_UTIL_SUCCESS;
    if (poll_set->count > 0)
        return HG_UTIL_FAIL;
    (void) close(poll_set->fd);
    free(poll_set);
    return HG_UTIL_SUCCESS;
}

int
hg_poll_get_fd(const hg_poll_set_t *poll_set)
{
    return poll_set ? poll_set->fd : HG_UTIL_FAIL;
}

int
hg_poll_add(hg_poll_set_t *poll_set, int fd, struct hg_poll_event *event)
{
    struct epoll_event wanted = {0};

    if (!poll_set || !event)
        return HG_UTIL_FAIL;
    wanted.data.u64 = event->data.u64;
    if (event->events & HG_POLLIN)
        wanted.events |= EPOLLIN;
    if (event->events & HG_POLLOUT)
        wanted.events |= EPOLLOUT;
    if (epoll_ctl(poll_set->fd, EPOLL_CTL_ADD, fd, &wanted) < 0)
        return HG_UTIL_FAIL;
    poll_set->count++;
    return HG_UTIL_SUCCESS;
}

int
hg_poll_remove(hg_poll_set_t *poll_set, int fd)
{
    if (!poll_set || epoll_ctl(poll_set->fd, EPOLL_CTL_DEL, fd, NULL) < 0)
        return HG_UTIL_FAIL;
    poll_set->count--;
    return HG_UTIL_SUCCESS;
}

static uint32_t
events_of(uint32_t seen)
{
    uint32_t events = 0;

    if (seen & EPOLLIN)
        events |= HG_POLLIN;
    if (seen & EPOLLOUT)
        events |= HG_POLLOUT;
    if (seen & EPOLLERR)
        events |= HG_POLLERR;
    if (seen & EPOLLHUP)
        events |= HG_POLLHUP;
    return events;
}

int
hg_poll_wait(hg_poll_set_t *poll_set, unsigned int timeout,
    unsigned int max_events, struct hg_poll_event events[],
    unsigned int *actual_events)
{
    struct epoll_event seen[EVENTS_AT_ONCE];
    unsigned int max =
        max_events < EVENTS_AT_ONCE ? max_events : EVENTS_AT_ONCE;
    int ms = timeout > INT_MAX ? INT_MAX : (int) timeout;
    int count;

    if (!poll_set || max == 0 || !events || !actual_events)
        return HG_UTIL_FAIL;
    count = epoll_wait(poll_set->fd, seen, (int) max, ms);
    if (count < 0 && errno != EINTR)
        return HG_UTIL_FAIL;
    if (count < 0) {
        events[0].events = HG_POLLINTR;
        events[0].data.u64 = 0;
        *actual_events = 1;
        return HG_UTIL_SUCCESS;
    }
    for (int i = 0; i < count; i++) {
        events[i].events = events_of(seen[i].events);
        events[i].data.u64 = seen[i].data.u64;
    }
    *actual_events = (unsigned int) count;
    return HG_UTIL_SUCCESS;
}
