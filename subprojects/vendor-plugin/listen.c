/* SPDX-License-Identifier: BSD-3-Clause */
/* The listening socket: binding it and accepting connections. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/socket.h"
#include "tcp.h"

#define ACCEPTS 64    /* at most, of one call of tcp_accept */
#define PAUSE_MS 100U /* without accepting, after an error */

/* Adds the listener to the epoll set. Returns 0, or -1 with errno. */
static int
watch_listener(na_plugin_class *cls)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0};

    return epoll_ctl(
        cls->base.descriptor, EPOLL_CTL_ADD, cls->listener, &event);
}

int32_t
tcp_listen(na_plugin_class *cls, const na_plugin_open_info *info)
{
    const na_plugin_host *host = cls->base.host;
    const char *name = info->host != NULL ? info->host : info->device;
    uint32_t port = info->port > 0 ? (uint32_t) info->port : 0;
    struct tp_place place;
    int on = 1;

    int32_t ret =
        tp_host_own(host, name, port, cls->family, info->ip_subnet, &place);
    if (ret != NA_PLUGIN_OK)
        return ret;
    cls->family = place.address.ss_family;
    cls->listener = tp_socket_open(cls->family);
    if (cls->listener < 0 ||
        setsockopt(cls->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
        bind(cls->listener, (struct sockaddr *) &place.address, place.length) ||
        listen(cls->listener, SOMAXCONN) ||
        getsockname(
            cls->listener, (struct sockaddr *) &place.address, &place.length) ||
        watch_listener(cls) != 0) {
        int error = errno;
        TP_LOG(host, ERROR, "cannot listen at \"%s\", port %u: %s",
            name != NULL ? name : "", port, strerror(error));
        return error == EADDRINUSE      ? NA_PLUGIN_E_ADDRINUSE
               : error == EADDRNOTAVAIL ? NA_PLUGIN_E_ADDRNOTAVAIL
               : error == EACCES        ? NA_PLUGIN_E_PERMISSION
                                        : NA_PLUGIN_E_NOMEM;
    }
    tp_host_reach(&place, info->ip_subnet);
    cls->base.self = tcp_addr_get(cls, &place);
    tp_pack(cls->base.hello_extra, tp_host_port(&place.address), TCP_PORT_SIZE);
    cls->base.hello_extra_length = TCP_PORT_SIZE;
    return cls->base.self != NULL ? NA_PLUGIN_OK : NA_PLUGIN_E_NOMEM;
}

void
tcp_accept(na_plugin_class *cls)
{
    struct tp_place from;
    int fd = 0;

    for (int i = 0; i < ACCEPTS && fd >= 0; i++) {
        fd = tp_socket_accept(cls->listener);
        if (fd < 0)
            break;
        tcp_conn_set_options(cls, fd);
        tp_count(&cls->accepts, 1);
        struct tcp_conn *conn = tcp_conn_new(cls, fd, NULL, false);
        from.length = sizeof(from.address);
        if (conn != NULL && getpeername(fd, (struct sockaddr *) &from.address,
                                &from.length) == 0)
            tp_host_text(&from.address, conn->base.name, TP_NAME);
    }
    if (fd >= 0 || errno == EAGAIN || errno == ECONNABORTED || errno == EINTR)
        return;
    /* a listener that stays readable would wake every sleeping poll */
    TP_LOG_THINNED(cls->base.host, WARNING, tp_count(&cls->failures, 1),
        "cannot accept connections, next try in %u ms: %s", PAUSE_MS,
        strerror(errno));
    epoll_ctl(cls->base.descriptor, EPOLL_CTL_DEL, cls->listener, NULL);
    cls->base.due = tp_now() + PAUSE_MS * TP_MS;
}

void
tcp_resume_accept(na_plugin_class *cls)
{
    if (cls->base.due > tp_now())
        return;
    watch_listener(cls);
    cls->base.due = 0;
}
