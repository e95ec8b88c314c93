/* SPDX-License-Identifier: BSD-3-Clause */
/* eventfd(2) in epoll(7). */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/wake.h"
#include "na_plugin.h"

int32_t
tp_wake_add(const struct tp_wake *wake, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(wake->fd, EPOLL_CTL_ADD, fd, &event) == 0
               ? NA_PLUGIN_OK
               : NA_PLUGIN_E_NOMEM;
}

int32_t
tp_wake_init(struct tp_wake *wake, const int *fds, uint32_t count)
{
    *wake = TP_WAKE_NONE;
    wake->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    wake->fd = wake->event >= 0 ? epoll_create1(EPOLL_CLOEXEC) : -1;
    int32_t ret =
        wake->fd >= 0 ? tp_wake_add(wake, wake->event) : NA_PLUGIN_E_NOMEM;
    for (uint32_t i = 0; i < count && ret == NA_PLUGIN_OK; i++)
        ret = tp_wake_add(wake, fds[i]);
    if (ret != NA_PLUGIN_OK) {
        int error = errno;
        tp_wake_fini(wake);
        errno = error;
    }
    return ret;
}

void
tp_wake_fini(struct tp_wake *wake)
{
    if (wake->fd >= 0)
        close(wake->fd);
    if (wake->event >= 0)
        close(wake->event);
    *wake = TP_WAKE_NONE;
}

void
tp_wake_set(struct tp_wake *wake)
{
    if (wake->event >= 0 && !wake->set)
        wake->set = eventfd_write(wake->event, 1) == 0;
}

void
tp_wake_clear(struct tp_wake *wake)
{
    eventfd_t writes;

    if (wake->set)
        eventfd_read(wake->event, &writes);
    wake->set = false;
}
