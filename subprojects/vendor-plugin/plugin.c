/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's one symbol; opening and closing a class. */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/open.h"
#include "common/setting.h"
#include "tcp.h"

/* What users may set; also as TALARIA_TCP_CONNECT_TIMEOUT and so on. */
static const na_plugin_setting *const settings[] = {
    TP_SETTING(BYTES, 0, UINT32_MAX, "tcp.queue_size", "1M",
        "bytes of unexpected messages that a peer may have waiting here"),
    TP_SETTING(DURATION, TP_MS, 3600 * TP_SECOND, "tcp.connect_timeout", "10s",
        "how long a peer may take to answer when it is connected"),
    TP_SETTING(DURATION, TP_MS, 86400 * TP_SECOND, "tcp.send_timeout", "300s",
        "how long a peer's host may acknowledge nothing"),
    NULL};

#define COUNTER(member)                                                        \
    {                                                                          \
#member, TP_REPORT_COUNTER, offsetof(na_plugin_class, member), NULL    \
    }
static const struct tp_report_line lines[] = {COUNTER(connects),
    COUNTER(accepts), COUNTER(sent), COUNTER(received), COUNTER(put_bytes),
    COUNTER(get_bytes)};

static uint32_t
report_entries(na_plugin_class *cls, uint32_t first,
    na_plugin_report_entry *entries, uint32_t max)
{
    return tp_report_entries(
        lines, sizeof(lines) / sizeof(lines[0]), cls, first, entries, max);
}

static const void *
extension(na_plugin_class *cls, const char *id)
{
    static const na_plugin_report report = {
        .size = sizeof(report), .entries = report_entries};

    if (strcmp(id, NA_PLUGIN_REPORT_ID) == 0)
        return &report;
    return strcmp(id, NA_PLUGIN_WAIT_ID) == 0 && cls->may_sleep ? &tcp_wait
                                                                : NULL;
}

struct listing {
    void *arg;
    void (*found)(void *arg, const na_plugin_device *device);
};

static void
list_one(void *arg, const char *name, const char *address)
{
    const struct listing *listing = arg;

    listing->found(
        listing->arg, &(na_plugin_device){.size = sizeof(na_plugin_device),
                          .protocol = TCP_PROTOCOL,
                          .name = name,
                          .detail = address});
}

static int32_t
info(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    struct listing listing = {arg, found};

    if (protocol != NULL && strcmp(protocol, TCP_PROTOCOL) != 0)
        return NA_PLUGIN_E_PROTONOSUPPORT;
    tp_host_list(&listing, list_one);
    return NA_PLUGIN_OK;
}

static void
close_class(na_plugin_class *cls)
{
    while (cls->conns.head != NULL)
        tcp_conn_end(TP_OBJECT(cls->conns.head, struct tcp_conn, link),
            NA_PLUGIN_E_CANCELED);
    if (cls->self != NULL)
        tcp_addr_put(cls, cls->self);
    if (cls->listener >= 0)
        tcp_close(cls->listener);
    if (cls->epoll >= 0)
        close(cls->epoll);
    tp_table_fini(&cls->numbers);
    tp_table_fini(&cls->addrs);
    tp_table_fini(&cls->mems);
    free(cls);
}

static uint32_t
family_of(uint32_t addr_format)
{
    return addr_format == NA_PLUGIN_ADDR_IPV4   ? AF_INET
           : addr_format == NA_PLUGIN_ADDR_IPV6 ? AF_INET6
                                                : AF_UNSPEC;
}

static void
set_limits(na_plugin_class *cls, const na_plugin_open_info *wanted)
{
    const na_plugin_host *host = cls->host;
    uint64_t window = host->number(host, "tcp.queue_size");

    cls->max_unexpected =
        tp_open_message_size(host, wanted->max_unexpected_size, TCP_MESSAGE,
            TCP_MESSAGE_MOST, "unexpected");
    cls->max_expected = tp_open_message_size(host, wanted->max_expected_size,
        TCP_MESSAGE, TCP_MESSAGE_MOST, "expected");
    /* credit comes back by halves: the longest has to fit into the other one */
    uint64_t least = 4 * tp_match_cost(cls->max_unexpected);
    cls->window = (uint32_t) (window < least ? least : window);
    uint32_t most = TCP_FRAGMENT;
    most = cls->max_unexpected > most ? cls->max_unexpected : most;
    most = cls->max_expected > most ? cls->max_expected : most;
    cls->room = 2 * (most + (uint32_t) sizeof(struct tcp_frame));
    cls->connect_timeout = host->number(host, "tcp.connect_timeout");
    cls->send_timeout = host->number(host, "tcp.send_timeout");
}

static const na_plugin_ops *
operations(void)
{
    static na_plugin_ops ops = {.size = sizeof(na_plugin_ops),
        .buf_alloc = tp_buf_alloc,
        .buf_free = tp_buf_free,
        .buf_init = tp_buf_init,
        .extension = extension};

    tcp_address_ops(&ops);
    tcp_message_ops(&ops);
    tcp_rma_ops(&ops);
    tcp_progress_ops(&ops);
    return &ops;
}

static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *wanted,
    na_plugin_opened *opened)
{
    static const struct tp_offer offer = {
        .max_contexts = NA_PLUGIN_CONTEXTS_MAX, .subnet = true, .ip = true};

    int32_t ret = tp_open_check(host, wanted, opened);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (wanted->protocol == NULL || strcmp(wanted->protocol, TCP_PROTOCOL)) {
        TP_LOG(host, ERROR, "protocol \"%.60s\"; this plugin speaks %s",
            wanted->protocol != NULL ? wanted->protocol : "", TCP_PROTOCOL);
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    tp_open_ignored(host, wanted, &offer);
    na_plugin_class *cls = calloc(1, sizeof(*cls));
    if (cls == NULL)
        return NA_PLUGIN_E_NOMEM;
    cls->host = host;
    cls->listener = -1;
    cls->may_sleep = (wanted->flags & NA_PLUGIN_OPEN_NO_BLOCK) == 0;
    cls->family = (int) family_of(wanted->addr_format);
    tp_lock_init(
        &cls->lock, (wanted->thread_mode & NA_PLUGIN_THREAD_SINGLE_CLASS) != 0);
    set_limits(cls, wanted);
    cls->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (cls->epoll < 0 || tp_table_init(&cls->numbers) != NA_PLUGIN_OK ||
        tp_table_init(&cls->addrs) != NA_PLUGIN_OK ||
        tp_table_init(&cls->mems) != NA_PLUGIN_OK) {
        TP_LOG(host, ERROR, "no memory or descriptors for a class");
        ret = NA_PLUGIN_E_NOMEM;
    } else {
        ret = tcp_listen(cls, wanted);
    }
    if (ret != NA_PLUGIN_OK) {
        close_class(cls);
        return ret;
    }
    opened->cls = cls;
    opened->ops = operations();
    opened->op_size = sizeof(struct tcp_op);
    opened->op_align = _Alignof(struct tcp_op);
    opened->max_unexpected_size = cls->max_unexpected;
    opened->max_expected_size = cls->max_expected;
    opened->max_tag = UINT32_MAX;
    opened->max_segments = TCP_SEGMENTS;
    opened->max_contexts = NA_PLUGIN_CONTEXTS_MAX;
    return NA_PLUGIN_OK;
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
