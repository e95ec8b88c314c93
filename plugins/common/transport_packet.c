/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames on their way out: their queues, and what is left of one. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "common/transport_private.h"

void
tp_frame_swap(struct tp_frame *frame)
{
    frame->length = htole32(frame->length);
    frame->tag = htole32(frame->tag);
    frame->status = (int32_t) htole32((uint32_t) frame->status);
    frame->key = htole64(frame->key);
    frame->offset = htole64(frame->offset);
}

struct tp_packet *
tp_packet_new(enum tp_frame_kind kind, uint32_t length)
{
    struct tp_packet *packet = malloc(sizeof(*packet) + length);

    if (packet == NULL)
        return NULL;
    *packet =
        (struct tp_packet){.frame = {.kind = (uint8_t) kind, .length = length},
            .data = packet + 1};
    return packet;
}

void
tp_packet_move(struct tp_packet *packet, struct tp_list *list)
{
    if (packet->list != NULL)
        tp_list_remove(packet->list, &packet->link);
    if (list != NULL)
        tp_list_append(list, &packet->link);
    packet->list = list;
}

bool
tp_packet_detach(struct tp_packet *packet)
{
    uint32_t length = packet->frame.length;
    struct tp_packet *copy =
        tp_packet_new((enum tp_frame_kind) packet->frame.kind, length);
    struct tp_list rest = *packet->list;

    if (copy == NULL)
        return false;
    copy->frame = packet->frame;
    copy->sent = packet->sent;
    if (length != 0)
        memcpy(copy + 1, packet->data, length);
    /* it takes the packet's place, which is the first */
    tp_list_drop_head(&rest);
    *packet->list = (struct tp_list){NULL, NULL};
    tp_packet_move(copy, packet->list);
    while (rest.head != NULL)
        tp_list_append(copy->list, tp_list_pop(&rest));
    packet->list = NULL;
    return true;
}

int
tp_packet_parts(const struct tp_packet *packet, struct tp_frame *frame_p,
    struct iovec parts[2])
{
    uint32_t begun = packet->sent;
    char *data = (char *) (uintptr_t) packet->data;
    int count = 0;

    *frame_p = packet->frame;
    tp_frame_swap(frame_p);
    if (begun < sizeof(*frame_p)) {
        parts[count++] =
            (struct iovec){(char *) frame_p + begun, sizeof(*frame_p) - begun};
        begun = (uint32_t) sizeof(*frame_p);
    }
    begun -= (uint32_t) sizeof(*frame_p);
    if (begun < packet->frame.length)
        parts[count++] =
            (struct iovec){data + begun, packet->frame.length - begun};
    return count;
}

void
tp_channel_release(struct tp_channel *channel)
{
    while (channel->open && channel->held.head != NULL) {
        struct tp_packet *packet =
            TP_OBJECT(channel->held.head, struct tp_packet, link);
        uint64_t cost = tp_match_cost(packet->frame.length);
        if (channel->used != 0 && channel->used + cost > channel->window)
            break;
        channel->used += cost;
        tp_packet_move(packet, &channel->out);
    }
    tp_channel_flush(channel);
}

/* The first of out; an operation's turn to send a fragment comes when that is
 * empty. */
static struct tp_packet *
first_of_out(struct tp_channel *channel)
{
    if (channel->out.head == NULL && channel->fragments.head != NULL)
        channel->transport->handlers->fragment_next(channel);
    return channel->out.head != NULL
               ? TP_OBJECT(channel->out.head, struct tp_packet, link)
               : NULL;
}

static bool
is_too_long(const struct tp_channel *channel, const struct tp_frame *frame)
{
    return (frame->kind == TP_FRAME_EXPECTED &&
               frame->length > channel->max_expected) ||
           (frame->kind == TP_FRAME_UNEXPECTED &&
               frame->length > channel->max_unexpected);
}

struct tp_packet *
tp_channel_next(struct tp_channel *channel)
{
    struct tp_packet *packet;

    if (channel->hello_due)
        return &channel->hello;
    if (!channel->open)
        return NULL;
    while ((packet = first_of_out(channel)) != NULL &&
           is_too_long(channel, &packet->frame)) {
        if (packet->frame.kind == TP_FRAME_UNEXPECTED)
            channel->used -= tp_match_cost(packet->frame.length);
        tp_packet_move(packet, NULL);
        tp_op_end(packet->op, NA_PLUGIN_E_MSGSIZE);
    }
    return packet;
}

void
tp_channel_sent(struct tp_channel *channel, struct tp_packet *packet)
{
    if (packet == &channel->hello) {
        channel->hello_due = false;
        return;
    }
    tp_packet_move(packet, NULL);
    if (packet->op == NULL) {
        channel->answers -= packet->frame.kind == TP_FRAME_ANSWER;
        free(packet);
    } else if (packet->op->kind == TP_OP_SEND) {
        tp_op_end(packet->op, NA_PLUGIN_OK);
    } else {
        channel->transport->handlers->fragment_sent(packet->op);
    }
}
