/* SPDX-License-Identifier: BSD-3-Clause */
/* What the class's epoll set reports. */
#include <sys/epoll.h>

#include "connect.h"
#include "kernel.h"
#include "listen.h"
#include "packet.h"
#include "work.h"

#define EVENTS 32

void
sm_kernel_check(na_plugin_class *cls, uint64_t now)
{
    struct epoll_event events[EVENTS];

    sm_work_recycle(cls);
    int count = epoll_wait(cls->epoll, events, EVENTS, 0);
    for (int i = 0; i < count; i++) {
        uint64_t tag = events[i].data.u64;
        if (tag == SM_LISTEN_TAG_NAME || tag == SM_LISTEN_TAG_SHORT) {
            sm_listen_accept(cls,
                tag == SM_LISTEN_TAG_NAME ? cls->name_fd : cls->short_fd, now);
            continue;
        }
        struct sm_conn *conn =
            (struct sm_conn *) (uintptr_t) (tag & ~UINT64_C(1));
        /* by an event before this one */
        if (conn->down != NA_PLUGIN_OK)
            continue;
        if ((tag & 1) != 0 || !sm_packet_read(cls, conn))
            sm_packet_lose(cls, conn);
    }

    if (cls->retries != 0 || cls->called != 0)
        sm_connect_retry(cls, now);
    if (cls->accept_ns != 0 && now >= cls->accept_ns)
        sm_listen_resume(cls);
    cls->kernel_due = false;
    if (count == EVENTS)
        sm_kernel_due(cls);
    cls->now_ns = now;
}

uint64_t
sm_kernel_sleep(const na_plugin_class *cls)
{
    if (cls->retries != 0)
        return SM_CONNECT_RETRY_NS;
    if (cls->accept_ns != 0)
        return SM_LISTEN_PAUSE_NS;
    return cls->called != 0 ? SM_LISTEN_HELLO_NS : UINT64_MAX;
}
