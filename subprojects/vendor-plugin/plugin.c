/* SPDX-License-Identifier: BSD-3-Clause */
/* The exported symbol, settings and report; opening, polling and closing a
 * class. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/setting.h"
#include "common/socket.h"
#include "tcp.h"

#define READY 64     /* events of one epoll_wait */
#define SET_EVERY 16 /* at least every 16th poll asks the epoll set */

/* A user can also set each by an environment variable: tcp.queue_size by
 * TALARIA_TCP_QUEUE_SIZE. */
static const na_plugin_setting *const settings[] = {
    TP_SETTING(BYTES, 0, UINT32_MAX, "tcp.queue_size", "1M",
        "bytes of unexpected messages that a class queues from each peer"),
    TP_SETTING(DURATION, TP_MS, 3600 * TP_SECOND, "tcp.connect_timeout", "10s",
        "how long connecting may take, the peer's hello included"),
    TP_SETTING(DURATION, TP_MS, 86400 * TP_SECOND, "tcp.send_timeout", "300s",
        "how long data that was sent may stay unacknowledged"),
    NULL};

/* Tries the connection that received last: the next message is most often from
 * the same peer, and this saves the epoll_wait. Returns whether it received. */
static bool
advance_recent(na_plugin_class *cls)
{
    uint64_t number = cls->recent;
    struct tp_channel *channel =
        number != 0 ? tp_channel_find(&cls->base, number) : NULL;

    if (channel == NULL || ++cls->recent_polls % SET_EVERY == 0)
        return false;
    cls->recent = 0;
    tcp_conn_advance(TP_OBJECT(channel, struct tcp_conn, base), EPOLLIN);
    bool received = cls->recent != 0;
    cls->recent = number;
    return received;
}

/* Entry of tp_carrier: accepts connections and lets those that are ready
 * receive and send. Does not block. Lock held. */
static int32_t
advance(na_plugin_class *cls)
{
    struct epoll_event ready[READY];

    if (advance_recent(cls))
        return NA_PLUGIN_OK;
    int count = epoll_wait(cls->base.descriptor, ready, READY, 0);
    for (int i = 0; i < count; i++) {
        uint64_t number = ready[i].data.u64;
        struct tp_channel *channel = tp_channel_find(&cls->base, number);
        if (number == 0)
            tcp_accept(cls);
        else if (channel != NULL)
            tcp_conn_advance(
                TP_OBJECT(channel, struct tcp_conn, base), ready[i].events);
    }
    if (cls->base.due != 0)
        tcp_resume_accept(cls);
    return NA_PLUGIN_OK;
}

static const struct tp_report_line lines[] = {
    TP_REPORT_LINE("connects", COUNTER, na_plugin_class, connects, NULL),
    TP_REPORT_LINE("accepts", COUNTER, na_plugin_class, accepts, NULL)};

static const struct tp_carrier carrier = {.protocol = TCP_PROTOCOL,
    .offer = {.max_contexts = NA_PLUGIN_CONTEXTS_MAX,
        .subnet = true,
        .ip = true},
    .addr_size = sizeof(struct na_plugin_addr),
    .message_size = 16384,
    .message_size_most = 1U << 20,
    .fragment = 128U << 10,
    .lines = lines,
    .line_count = sizeof(lines) / sizeof(lines[0]),
    .addr_parse = tcp_addr_parse,
    .connect = tcp_conn_connect,
    .flush = tcp_conn_flush,
    .advance = advance,
    .is_out = tcp_conn_is_out,
    .hello_received = tcp_conn_hello_received,
    .close = tcp_conn_close};

/* Entry of na_plugin: each network interface that is up is a device. */
static int32_t
info(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    return tp_host_devices(TCP_PROTOCOL, protocol, arg, found);
}

/* Entry of na_plugin. Also closes a class whose initialization failed. */
static void
close_class(na_plugin_class *cls)
{
    tp_transport_fini(&cls->base);
    tp_socket_close(cls->listener);
    if (cls->base.descriptor >= 0)
        close(cls->base.descriptor);
    free(cls);
}

/* Converts NA_PLUGIN_ADDR_* to an address family. */
static int
family_of(uint32_t addr_format)
{
    return addr_format == NA_PLUGIN_ADDR_IPV4   ? AF_INET
           : addr_format == NA_PLUGIN_ADDR_IPV6 ? AF_INET6
                                                : AF_UNSPEC;
}

/* Reads the settings, creates the epoll set and listens. On an error the caller
 * closes the class. No lock: other threads do not know the class yet. */
static int32_t
init_class(na_plugin_class *cls, const na_plugin_open_info *wanted)
{
    const na_plugin_host *host = cls->base.host;

    cls->family = family_of(wanted->addr_format);
    cls->base.connect_timeout = host->number(host, "tcp.connect_timeout");
    cls->send_timeout = host->number(host, "tcp.send_timeout");
    tp_transport_window(&cls->base, host->number(host, "tcp.queue_size"));
    cls->base.descriptor = epoll_create1(EPOLL_CLOEXEC);
    if (cls->base.descriptor >= 0)
        return tcp_listen(cls, wanted);
    TP_LOG(host, ERROR, "cannot create an epoll set: %s", strerror(errno));
    return NA_PLUGIN_E_NOMEM;
}

/* Entry of na_plugin; blocks while a host name is resolved. */
static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *wanted,
    na_plugin_opened *opened)
{
    na_plugin_class *cls = calloc(1, sizeof(*cls));

    if (cls == NULL)
        return NA_PLUGIN_E_NOMEM;
    cls->listener = -1;
    int32_t ret = tp_transport_init(&cls->base, &carrier, host, wanted, opened);
    if (ret == NA_PLUGIN_OK)
        ret = init_class(cls, wanted);
    if (ret == NA_PLUGIN_OK)
        tp_transport_opened(&cls->base, opened);
    else
        close_class(cls);
    return ret;
}

static const char *const protocols[] = {TCP_PROTOCOL, NULL};

NA_PLUGIN_EXPORT const na_plugin NA_PLUGIN_SYMBOL(tcp) = {
    .magic = NA_PLUGIN_MAGIC,
    .abi_major = NA_PLUGIN_ABI_MAJOR,
    .abi_minor = NA_PLUGIN_ABI_MINOR,
    .size = sizeof(na_plugin),
    .name = "tcp",
    .version = "1.0.0",
    .protocols = protocols,
    .priority = 10,
    .info = info,
    .open = open_class,
    .close = close_class,
    .settings = settings,
};
