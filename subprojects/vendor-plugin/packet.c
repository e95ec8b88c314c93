/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames on their way out: queues, and what sendmsg(2) takes of them. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "tcp.h"

#define PACKET(link_) TP_OBJECT(link_, struct tcp_packet, link)

void
tcp_frame_swap(struct tcp_frame *frame)
{
    frame->length = htole32(frame->length);
    frame->tag = htole32(frame->tag);
    frame->status = (int32_t) htole32((uint32_t) frame->status);
    frame->key = htole64(frame->key);
    frame->offset = htole64(frame->offset);
}

struct tcp_packet *
tcp_packet_new(enum tcp_kind kind, uint32_t length)
{
    struct tcp_packet *packet = malloc(sizeof(*packet) + length);

    if (packet == NULL)
        return NULL;
    *packet = (struct tcp_packet){.frame.kind = (uint8_t) kind,
        .frame.length = length,
        .data = packet + 1,
        .length = length};
    return packet;
}

void
tcp_packet_move(struct tcp_packet *packet, struct tp_list *list)
{
    if (packet->list != NULL)
        tp_list_remove(packet->list, &packet->link);
    if (list != NULL)
        tp_list_append(list, &packet->link);
    packet->list = list;
}

bool
tcp_packet_detach(struct tcp_packet *packet)
{
    struct tcp_packet *copy =
        tcp_packet_new((enum tcp_kind) packet->frame.kind, packet->length);
    struct tp_list rest = *packet->list;

    if (copy == NULL)
        return false;
    copy->frame = packet->frame;
    copy->sent = packet->sent;
    memcpy(copy + 1, packet->data, packet->length);
    /* it takes the packet's place, which is the first */
    tp_list_drop_head(&rest);
    *packet->list = (struct tp_list){NULL, NULL};
    tcp_packet_move(copy, packet->list);
    while (rest.head != NULL)
        tp_list_append(copy->list, tp_list_pop(&rest));
    packet->list = NULL;
    return true;
}

/* Whether all of it is sent. */
static bool
write_packet(const struct tcp_conn *conn, struct tcp_packet *packet)
{
    uint32_t begun = packet->sent < sizeof(struct tcp_frame)
                         ? 0
                         : packet->sent - (uint32_t) sizeof(struct tcp_frame);
    struct tcp_frame frame = packet->frame;
    struct iovec parts[2] = {
        {(char *) &frame + packet->sent, sizeof(frame) - packet->sent},
        {(char *) (uintptr_t) packet->data + begun, packet->length - begun}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    if (packet->sent >= sizeof(frame))
        message = (struct msghdr){.msg_iov = parts + 1, .msg_iovlen = 1};
    tcp_frame_swap(&frame);
    ssize_t n = sendmsg(conn->fd, &message, MSG_NOSIGNAL);
    if (n > 0)
        packet->sent += (uint32_t) n;
    return packet->sent == sizeof(frame) + packet->length;
}

static void
packet_sent(struct tcp_conn *conn, struct tcp_packet *packet)
{
    tcp_packet_move(packet, NULL);
    if (packet->op == NULL) {
        conn->answers -= packet->frame.kind == TCP_ANSWER;
        free(packet);
    } else if (packet->op->kind == TCP_OP_SEND) {
        tcp_op_end(packet->op, NA_PLUGIN_OK);
    } else {
        tcp_rma_sent(packet->op);
    }
}

/* The first packet, if it may go: before the peer's hello only the own one does,
 * and a message has to be no longer than the peer takes. */
static struct tcp_packet *
next_packet(struct tcp_conn *conn)
{
    while (true) {
        if (conn->out.head == NULL && conn->fragments.head != NULL &&
            conn->open)
            tcp_rma_next(conn);
        if (conn->out.head == NULL)
            return NULL;
        struct tcp_packet *packet = PACKET(conn->out.head);
        if (!conn->open)
            return packet->frame.kind == TCP_HELLO ? packet : NULL;
        uint32_t most = packet->frame.kind == TCP_EXPECTED ? conn->max_expected
                        : packet->frame.kind == TCP_UNEXPECTED
                            ? conn->max_unexpected
                            : UINT32_MAX;
        if (packet->length <= most)
            return packet;
        tcp_packet_move(packet, NULL);
        tcp_op_end(packet->op, NA_PLUGIN_E_MSGSIZE);
    }
}

void
tcp_flush(struct tcp_conn *conn)
{
    struct tcp_packet *packet;

    if (conn->connecting)
        return;
    while ((packet = next_packet(conn)) != NULL && write_packet(conn, packet))
        packet_sent(conn, packet);
    if (conn->watches_out == (packet != NULL))
        return;
    conn->watches_out = packet != NULL;
    struct epoll_event event = {
        .events = EPOLLIN | (conn->watches_out ? EPOLLOUT : 0U),
        .data.u64 = conn->keyed.key};
    epoll_ctl(conn->cls->epoll, EPOLL_CTL_MOD, conn->fd, &event);
}
