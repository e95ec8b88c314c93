/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving. Everything in a message is checked here first; a malformed one
 * ends its connection. */
#include <string.h>

#include "fragment.h"
#include "hello.h"
#include "peer.h"
#include "receive.h"
#include "recv.h"
#include "turn.h"

/* There is no memory to keep a message: it is lost, so its connection fails, since
 * its sender must not take it for delivered. */
static __attribute__((noinline)) void
fail_for_memory(
    struct ucx_conn *conn, const struct ucx_head *head, size_t length)
{
    TP_LOG(conn->cls->host, ERROR,
        "%s, context %u: message of %zu bytes lost: no memory", conn->peer_name,
        (unsigned) head->to, length);
    ucx_conn_fail(conn, NA_PLUGIN_E_NOMEM);
}

/* A message for a receive. */
static inline void
deliver(struct ucx_conn *conn, const struct ucx_head *head, const void *data,
    size_t length)
{
    na_plugin_class *cls = conn->cls;
    na_plugin_ctx *ctx = cls->contexts[head->to];
    bool unexpected = head->kind == UCX_UNEXPECTED;
    struct tp_message message = {.owner = conn->peer,
        .key = tp_match_key(head->from, head->tag),
        .from = conn->peer->addr != NULL ? conn->peer->addr : conn->addr,
        .data = data,
        .length = (uint32_t) length,
        .tag = head->tag};

    if (length > UCX_MESSAGE_MAX ||
        (unexpected && conn->kept > cls->window + ucx_cost(UCX_MESSAGE_MAX))) {
        ucx_conn_break(conn, "message exceeds the window");
        return;
    }
    conn->unheard = 0;
    if (!conn->seen) {
        conn->seen = true;
        ucx_conn_mark(cls, false);
    }
    tp_count(&cls->counters.received, 1);
    if (ctx == NULL) {
        tp_count(&cls->counters.strayed, 1);
        if (unexpected)
            ucx_conn_credit(conn, ucx_cost(length));
    } else if (!ucx_recv_deliver(ctx, &message, unexpected, conn)) {
        fail_for_memory(conn, head, length);
    }
}

/* Takes the peer's last message on a connection. answered: the peer has received
 * ours. */
static void
take_close(struct ucx_conn *conn, bool answered)
{
    conn->close_heard = true;
    ucx_turn_expect(conn);
    if (answered)
        conn->close_answered = true;
    conn->retiring = true;
    ucx_peer_choose(conn->peer);
    ucx_conn_touch(conn);
}

/* A message by a connection that is up. */
static void
take(struct ucx_conn *conn, const union ucx_header *header, size_t head_length,
    const void *data, size_t length)
{
    switch (header->head.kind) {
    case UCX_UNEXPECTED:
    case UCX_EXPECTED:
        deliver(conn, &header->head, data, length);
        return;
    case UCX_CREDIT:
        if (header->head.tag > conn->used) {
            ucx_conn_break(conn, "credit for messages that were not sent");
            return;
        }
        conn->used -= header->head.tag;
        ucx_conn_touch(conn);
        return;
    case UCX_CLOSE:
        take_close(conn, header->head.tag != 0);
        return;
    case UCX_GET:
    case UCX_DATA:
    case UCX_PUT:
    case UCX_DONE:
        if (head_length == sizeof(header->fragment)) {
            ucx_fragment_take(conn, &header->fragment, data, length);
            return;
        }
        break;
    default:
        break;
    }
    ucx_conn_break(conn, "unknown kind of message");
}

ucs_status_t
ucx_receive(void *arg, const void *front, size_t front_length, void *data,
    size_t length, const ucp_am_recv_param_t *param)
{
    na_plugin_class *cls = arg;
    union ucx_header header;

    if (front_length < sizeof(header.head) || front_length > sizeof(header) ||
        (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
        tp_count(&cls->counters.malformed, 1);
        return UCS_OK;
    }
    if (__builtin_expect(front_length == sizeof(header.head), 1))
        memcpy(&header, front, sizeof(header.head));
    else
        memcpy(&header, front, front_length);
    if (header.head.kind == UCX_HELLO) {
        ucp_ep_h ep = (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0
                          ? param->reply_ep
                          : NULL;
        ucx_hello_take(cls, &header.head, ep, data, length);
        return UCS_OK;
    }
    struct ucx_conn *conn = ucx_conn_find(cls, header.head.token);
    if (conn == NULL || conn->failed)
        tp_count(&cls->counters.strayed, 1);
    else if (conn->state != UCX_CONN_UP)
        ucx_conn_break(conn, "a message before its hello");
    else
        take(conn, &header, front_length, data, length);
    return UCS_OK;
}
