/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing a class, its table of operations, and the handlers that its
 * channels call. */
#include <string.h>

#include "common/transport_private.h"

/* What every such class counts, then what the carrier does. */
static uint32_t
report_entries(na_plugin_class *cls, uint32_t first,
    na_plugin_report_entry *entries, uint32_t max)
{
    static const struct tp_report_line ours[] = {
        TP_REPORT_LINE("messages_sent", COUNTER, struct tp_transport, sent, 0),
        TP_REPORT_LINE(
            "messages_received", COUNTER, struct tp_transport, received, 0),
        TP_REPORT_LINE(
            "messages_strayed", COUNTER, struct tp_transport, strayed, 0),
        TP_REPORT_LINE("put_bytes", COUNTER, struct tp_transport, put_bytes, 0),
        TP_REPORT_LINE("get_bytes", COUNTER, struct tp_transport, get_bytes, 0),
        TP_REPORT_LINE(
            "channels_ended", COUNTER, struct tp_transport, ended, 0),
        TP_REPORT_LINE(
            "peers_malformed", COUNTER, struct tp_transport, malformed, 0),
        TP_REPORT_LINE("peers_silent", COUNTER, struct tp_transport, silent, 0),
        TP_REPORT_LINE(
            "accesses_refused", COUNTER, struct tp_transport, refused, 0),
    };
    const struct tp_carrier *carrier = tp_transport_of(cls)->carrier;
    uint32_t count = sizeof(ours) / sizeof(ours[0]);

    uint32_t filled = tp_report_entries(ours, count, cls, first, entries, max);
    first = first > count ? first - count : 0;
    return filled + tp_report_entries(carrier->lines, carrier->line_count, cls,
                        first, entries + filled, max - filled);
}

static const void *
extension(na_plugin_class *cls, const char *id)
{
    static const na_plugin_report report = {
        .size = sizeof(report), .entries = report_entries};
    const struct tp_transport *transport = tp_transport_of(cls);

    if (strcmp(id, NA_PLUGIN_REPORT_ID) == 0)
        return &report;
    return strcmp(id, NA_PLUGIN_WAIT_ID) == 0 && transport->may_sleep &&
                   transport->descriptor >= 0
               ? &tp_ctx_wait
               : NULL;
}

static const na_plugin_ops operations = {.size = sizeof(na_plugin_ops),
    .ctx_create = tp_ctx_create,
    .ctx_destroy = tp_ctx_destroy,
    .addr_self = tp_peer_self,
    .addr_lookup = tp_peer_lookup,
    .addr_dup = tp_peer_dup,
    .addr_free = tp_peer_free,
    .addr_equal = tp_peer_equal,
    .addr_hash = tp_peer_hash,
    .addr_to_string = tp_peer_to_string,
    .addr_serialize = tp_peer_to_bytes,
    .addr_deserialize = tp_peer_from_bytes,
    .addr_forget = tp_channel_forget,
    .buf_alloc = tp_buf_alloc,
    .buf_free = tp_buf_free,
    .buf_init = tp_buf_init,
    .send_unexpected = tp_send_unexpected,
    .recv_unexpected = tp_recv_unexpected,
    .send_expected = tp_send_expected,
    .recv_expected = tp_recv_expected,
    .mem_register = tp_mem_register,
    .mem_deregister = tp_mem_deregister,
    .mem_serialize = tp_mem_to_bytes,
    .mem_deserialize = tp_mem_from_bytes,
    .mem_remote_free = tp_mem_remote_free,
    .put = tp_rma_put,
    .get = tp_rma_get,
    .poll = tp_ctx_poll,
    .cancel = tp_ctx_cancel,
    .extension = extension};

static const struct tp_handlers handlers = {
    .arrived = {[TP_FRAME_UNEXPECTED] = tp_message_arrived,
        [TP_FRAME_EXPECTED] = tp_message_arrived,
        [TP_FRAME_CREDIT] = tp_message_credited,
        [TP_FRAME_PUT] = tp_rma_asked,
        [TP_FRAME_GET] = tp_rma_asked,
        [TP_FRAME_ANSWER] = tp_rma_answered},
    .fragment_next = tp_rma_next,
    .fragment_sent = tp_rma_sent};

static uint32_t
greater(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void
set_sizes(struct tp_transport *transport, const na_plugin_open_info *info)
{
    const struct tp_carrier *carrier = transport->carrier;

    transport->max_unexpected =
        tp_open_message_size(transport->host, info->max_unexpected_size,
            carrier->message_size, carrier->message_size_most, "unexpected");
    transport->max_expected =
        tp_open_message_size(transport->host, info->max_expected_size,
            carrier->message_size, carrier->message_size_most, "expected");
    transport->longest = greater(carrier->fragment,
        greater(transport->max_unexpected, transport->max_expected));
    transport->longest = greater(transport->longest, TP_HELLO + TP_HELLO_EXTRA);
    tp_transport_window(transport, 0);
}

void
tp_transport_window(struct tp_transport *transport, uint64_t bytes)
{
    /* credit comes back by halves: the longest has to fit into the other one */
    uint64_t least = 4 * tp_match_cost(transport->max_unexpected);

    bytes = bytes < least ? least : bytes;
    transport->window = bytes < UINT32_MAX ? (uint32_t) bytes : UINT32_MAX;
}

int32_t
tp_transport_init(struct tp_transport *transport,
    const struct tp_carrier *carrier, const na_plugin_host *host,
    const na_plugin_open_info *info, const na_plugin_opened *opened)
{
    *transport = (struct tp_transport){
        .host = host, .carrier = carrier, .handlers = &handlers};
    transport->descriptor = -1;
    transport->lock = &transport->own_lock;
    int32_t ret = tp_open_check(host, info, opened);
    if (ret != NA_PLUGIN_OK)
        return ret;
    const char *protocol = info->protocol != NULL ? info->protocol : "";
    if (strcmp(protocol, carrier->protocol) != 0) {
        TP_LOG(host, ERROR, "protocol \"%.60s\"; this plugin speaks %s",
            protocol, carrier->protocol);
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    tp_open_ignored(host, info, &carrier->offer);
    tp_mutex_init(&transport->own_lock,
        (info->thread_mode & NA_PLUGIN_THREAD_SINGLE_CLASS) != 0);
    transport->may_sleep = (info->flags & NA_PLUGIN_OPEN_NO_BLOCK) == 0;
    transport->connect_timeout = 10 * TP_SECOND;
    set_sizes(transport, info);
    if (tp_table_init(&transport->numbers) == NA_PLUGIN_OK &&
        tp_table_init(&transport->addrs) == NA_PLUGIN_OK &&
        tp_table_init(&transport->mems) == NA_PLUGIN_OK)
        return NA_PLUGIN_OK;
    TP_LOG(host, ERROR, "no memory for a class");
    return NA_PLUGIN_E_NOMEM;
}

void
tp_transport_opened(struct tp_transport *transport, na_plugin_opened *opened)
{
    opened->cls = tp_class_of(transport);
    opened->ops = &operations;
    opened->op_size = sizeof(struct tp_op);
    opened->op_align = _Alignof(struct tp_op);
    opened->max_unexpected_size = transport->max_unexpected;
    opened->max_expected_size = transport->max_expected;
    opened->max_tag = UINT32_MAX;
    opened->max_segments = TP_SEGMENTS;
    opened->max_contexts = transport->carrier->offer.max_contexts;
}

void
tp_transport_fini(struct tp_transport *transport)
{
    while (transport->channels.head != NULL)
        tp_channel_end(
            tp_channel_of(transport->channels.head), NA_PLUGIN_E_CANCELED);
    if (transport->self != NULL)
        tp_peer_put(transport, transport->self);
    tp_table_fini(&transport->numbers);
    tp_table_fini(&transport->addrs);
    tp_table_fini(&transport->mems);
}
