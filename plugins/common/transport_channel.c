/* SPDX-License-Identifier: BSD-3-Clause */
/* Channels: the hello that both ends begin with, what arrives, and their end. */
#include <stdlib.h>
#include <string.h>

#include "common/transport_private.h"

#define MAGIC UINT64_C(0x31656d6172667074) /* "tpframe1" */

void
tp_channel_send_hello(struct tp_channel *channel)
{
    const struct tp_transport *transport = channel->transport;
    unsigned char *bytes = channel->hello_bytes;
    uint32_t extra = transport->hello_extra_length;

    bytes = tp_pack(bytes, MAGIC, 8);
    bytes = tp_pack(bytes, transport->max_unexpected, 4);
    bytes = tp_pack(bytes, transport->max_expected, 4);
    bytes = tp_pack(bytes, transport->window, 8);
    memcpy(bytes, transport->hello_extra, extra);
    channel->hello = (struct tp_packet){
        .frame = {.kind = TP_FRAME_HELLO, .length = TP_HELLO + extra},
        .data = channel->hello_bytes};
    channel->hello_due = true;
}

void
tp_channel_join(struct tp_channel *channel, na_plugin_addr *peer)
{
    channel->peer = peer;
    tp_peer_of(peer)->channel = channel;
    memcpy(channel->name, tp_peer_of(peer)->name, sizeof(channel->name));
}

void
tp_channel_begin(struct tp_channel *channel, struct tp_transport *transport,
    na_plugin_addr *peer)
{
    channel->transport = transport;
    channel->keyed.key = ++transport->last_number;
    channel->deadline = tp_now() + transport->connect_timeout;
    tp_table_insert(&transport->numbers, &channel->keyed);
    tp_list_append(&transport->channels, &channel->link);
    tp_list_append(&transport->opening, &channel->opening);
    if (peer != NULL) {
        tp_addr_hold(&tp_peer_of(peer)->addr, false);
        tp_channel_join(channel, peer);
    }
    tp_channel_send_hello(channel);
}

int32_t
tp_channel_get(struct tp_transport *transport, na_plugin_addr *peer,
    struct tp_channel **channel_p)
{
    if (tp_peer_of(peer)->channel == NULL) {
        int32_t ret = transport->carrier->connect(tp_class_of(transport), peer);
        if (ret != NA_PLUGIN_OK)
            return ret;
    }
    *channel_p = tp_peer_of(peer)->channel;
    return NA_PLUGIN_OK;
}

struct tp_channel *
tp_channel_find(const struct tp_transport *transport, uint64_t number)
{
    struct tp_keyed *keyed = tp_table_find(&transport->numbers, NULL, number);

    return keyed != NULL ? TP_OBJECT(keyed, struct tp_channel, keyed) : NULL;
}

static void
end_ops(struct tp_list *list, int32_t status)
{
    while (list->head != NULL) {
        struct tp_op *op = TP_OBJECT(list->head, struct tp_op, link);
        if (op->kind == TP_OP_RECV_EXPECTED)
            tp_match_unpost(&op->ctx->match, &op->recv, false);
        else
            tp_packet_move(&op->packet, NULL);
        tp_op_end(op, status);
    }
}

/* Ends receives from a peer, and drops its messages that wait for one: a later
 * peer of that name must not be taken for their sender. */
static void
end_receives(
    struct tp_transport *transport, na_plugin_addr *peer, int32_t status)
{
    end_ops(&tp_peer_of(peer)->recvs, status);
    for (uint32_t i = 0; i < NA_PLUGIN_CONTEXTS_MAX; i++)
        if (transport->contexts[i] != NULL)
            tp_match_drop_owner(&transport->contexts[i]->match, peer);
}

void
tp_channel_end(struct tp_channel *channel, int32_t status)
{
    struct tp_transport *transport = channel->transport;
    na_plugin_addr *peer = channel->peer;

    tp_table_remove(&transport->numbers, &channel->keyed);
    tp_list_remove(&transport->channels, &channel->link);
    if (!channel->open)
        tp_list_remove(&transport->opening, &channel->opening);
    end_ops(&channel->ops, status);
    while (channel->out.head != NULL)
        free(TP_OBJECT(tp_list_pop(&channel->out), struct tp_packet, link));
    if (peer != NULL && tp_peer_of(peer)->channel == channel) {
        tp_peer_of(peer)->channel = NULL;
        end_receives(transport, peer, status);
    }
    if (peer != NULL)
        tp_peer_put(transport, peer);
    if (status != NA_PLUGIN_E_CANCELED)
        tp_count(&transport->ended, 1);
    transport->carrier->close(channel);
}

void
tp_channel_forget(na_plugin_class *cls, na_plugin_addr *addr)
{
    struct tp_transport *transport = tp_transport_of(cls);
    struct tp_link *next;

    tp_mutex_take(transport->lock);
    for (struct tp_link *link = transport->channels.head; link != NULL;
         link = next) {
        struct tp_channel *channel = tp_channel_of(link);
        next = link->next;
        if (channel->peer == addr)
            tp_channel_end(channel, NA_PLUGIN_E_HOSTUNREACH);
    }
    tp_mutex_drop(transport->lock);
}

void
tp_channel_refuse(struct tp_channel *channel)
{
    struct tp_transport *transport = channel->transport;

    TP_LOG_THINNED(transport->host, WARNING, tp_count(&transport->malformed, 1),
        "malformed data from %s, connection closed",
        channel->name[0] != '\0' ? channel->name : "an unknown peer");
    tp_channel_end(channel, NA_PLUGIN_E_PROTOCOL_ERROR);
}

static bool
hello_arrived(struct tp_channel *channel, const struct tp_frame *frame,
    const unsigned char *bytes)
{
    struct tp_transport *transport = channel->transport;
    uint32_t extra = transport->hello_extra_length;

    if (frame->kind != TP_FRAME_HELLO || frame->length != TP_HELLO + extra ||
        tp_unpack(bytes, 8) != MAGIC)
        return false;
    channel->max_unexpected = (uint32_t) tp_unpack(bytes + 8, 4);
    channel->max_expected = (uint32_t) tp_unpack(bytes + 12, 4);
    channel->window = tp_unpack(bytes + 16, 8);
    if (!transport->carrier->hello_received(channel, bytes + TP_HELLO, extra) ||
        channel->peer == NULL)
        return false;
    channel->open = true;
    tp_list_remove(&transport->opening, &channel->opening);
    tp_channel_release(channel);
    return true;
}

bool
tp_channel_arrived(
    struct tp_channel *channel, const struct tp_frame *frame, const void *data)
{
    if (!channel->open)
        return hello_arrived(channel, frame, data);
    if (frame->kind >= TP_FRAME_KINDS)
        return false;
    tp_arrived_fn *arrived = channel->transport->handlers->arrived[frame->kind];
    return arrived != NULL && arrived(channel, frame, data);
}

int64_t
tp_channel_take(
    struct tp_channel *channel, const unsigned char *bytes, size_t length)
{
    struct tp_frame frame;
    size_t at = 0;

    while (length - at >= sizeof(frame)) {
        memcpy(&frame, bytes + at, sizeof(frame));
        tp_frame_swap(&frame);
        if (frame.length > channel->transport->longest)
            return -1;
        if (length - at - sizeof(frame) < frame.length)
            break;
        if (!tp_channel_arrived(channel, &frame, bytes + at + sizeof(frame)))
            return -1;
        at += sizeof(frame) + frame.length;
    }
    return (int64_t) at;
}
