/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving. Everything in a message is a stranger's until it has been checked
 * here; what cannot be ends its connection. */
#include <inttypes.h>
#include <string.h>

#include "conn.h"
#include "context.h"
#include "hello.h"
#include "match.h"
#include "peer.h"
#include "piece.h"
#include "receive.h"
#include "send.h"

/* A message for a receive. */
static void
deliver(struct ucx_conn *conn, const struct ucx_head *head, const void *data,
    size_t length)
{
    na_plugin_class *cls = conn->cls;
    na_plugin_ctx *ctx = cls->contexts[head->to];
    bool unexpected = head->kind == UCX_UNEXPECTED;
    struct ucx_arrival arrival = {.from = conn->peer->addr,
        .whose = conn->peer,
        .conn = conn,
        .data = data,
        .length = (uint32_t) length,
        .tag = head->tag,
        .context = head->from};

    if (length > UCX_MESSAGE_MAX ||
        (unexpected && conn->kept > cls->window + ucx_cost(UCX_MESSAGE_MAX))) {
        ucx_conn_break(conn, "more than there was room for");
        return;
    }
    if (arrival.from == NULL)
        arrival.from = conn->addr;
    conn->unheard = false;
    if (!conn->seen) {
        conn->seen = true;
        ucx_conn_mark(cls, false);
    }
    ucx_count(&cls->counters.received, 1);
    if (ctx == NULL) {
        ucx_count(&cls->counters.strayed, 1);
        if (unexpected)
            ucx_conn_owe(conn, ucx_cost(length));
    } else if (!unexpected) {
        ucx_match_expected(ctx, &arrival);
    } else if (!ucx_match_unexpected(ctx, &arrival)) {
        UCX_LOG(cls->host, ERROR, "no memory to keep a message of %s",
            conn->peer_name);
        ucx_conn_fail(conn, NA_PLUGIN_E_NOMEM);
    }
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
            ucx_conn_break(conn, "room given back that was not taken");
            return;
        }
        conn->used -= header->head.tag;
        ucx_conn_touch(conn);
        return;
    case UCX_BYE:
        ucx_conn_bye(conn, header->head.tag != 0);
        return;
    case UCX_GET:
    case UCX_DATA:
    case UCX_PUT:
    case UCX_DONE:
        if (head_length == sizeof(header->piece)) {
            ucx_piece_take(conn, &header->piece, data, length);
            return;
        }
        break;
    default:
        break;
    }
    ucx_conn_break(conn, "a message of no known kind");
}

ucs_status_t
ucx_receive(void *arg, const void *front, size_t front_length, void *data,
    size_t length, const ucp_am_recv_param_t *param)
{
    na_plugin_class *cls = arg;
    union ucx_header header;

    if (front_length < sizeof(header.head) || front_length > sizeof(header) ||
        (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
        ucx_count(&cls->counters.malformed, 1);
        return UCS_OK;
    }
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
        ucx_count(&cls->counters.strayed, 1);
    else if (conn->state != UCX_CONN_UP)
        ucx_conn_break(conn, "a message before its hello");
    else
        take(conn, &header, front_length, data, length);
    return UCS_OK;
}

int32_t
ucx_recv_unexpected(na_plugin_ctx *ctx, void *name, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags)
{
    na_plugin_class *cls = ctx->cls;
    struct ucx_op *op = ucx_op_of(cls, name);

    ucx_lock_take(&cls->lock);
    op->ctx = ctx;
    op->kind = UCX_OP_RECV_UNEXPECTED;
    op->buffer = buffer;
    op->length = length;
    ucx_match_post(ctx, op);
    ucx_wait_settle(cls);
    ucx_lock_drop(&cls->lock);
    return NA_PLUGIN_PENDING;
}

int32_t
ucx_recv_expected(na_plugin_ctx *ctx, void *name, void *buffer, uint64_t length,
    void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t flags)
{
    na_plugin_class *cls = ctx->cls;
    struct ucx_op *op = ucx_op_of(cls, name);
    struct ucx_conn *conn;

    if (peer_ctx >= UCX_CONTEXTS || tag > UCX_TAG_MAX) {
        UCX_LOG(cls->host, ERROR,
            "receive of tag %" PRIu64 " from context %" PRIu32
            "; the highest are %u and %u",
            tag, peer_ctx, UCX_TAG_MAX, UCX_CONTEXTS - 1);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    ucx_lock_take(&cls->lock);
    /* only a connection tells whether the peer lives */
    int32_t ret =
        peer == cls->self ? NA_PLUGIN_OK : ucx_send_conn(cls, peer, &conn);
    if (ret != NA_PLUGIN_OK) {
        ucx_lock_drop(&cls->lock);
        return ret;
    }
    op->ctx = ctx;
    op->kind = UCX_OP_RECV_EXPECTED;
    op->buffer = buffer;
    op->length = length;
    op->link.whose = peer->peer != NULL ? (const void *) peer->peer : peer;
    op->link.key = ucx_match_key(peer_ctx, (uint32_t) tag);
    ucx_match_post(ctx, op);
    ucx_wait_settle(cls);
    ucx_lock_drop(&cls->lock);
    return NA_PLUGIN_PENDING;
}
