/* SPDX-License-Identifier: BSD-3-Clause */
/* Consuming what connections report. Before a connection is made to a peer whose
 * last one is down, that one has to be ended: hence submissions come here too. */
#include <stdlib.h>

#include "address.h"
#include "connect.h"
#include "fragment.h"
#include "key.h"
#include "recv.h"
#include "send.h"
#include "silence.h"
#include "turn.h"
#include "tx.h"
#include "wait.h"
#include "work.h"

#define CLOSE_NS                                                               \
    UINT64_C(5000000000) /* for a peer to answer our last message */
#define ROUNDS 4U        /* of consuming, at a time */

/* Closes the endpoint without asking the peer. */
static void
close_ep(struct ucx_conn *conn)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_EP_CLOSE_FLAG_FORCE};

    if (conn->flying.head == NULL)
        ucx_key_forget_conn(conn);
    ucx_turn_end(conn);
    ucx_turn_take();
    void *request = ucp_ep_close_nbx(conn->ep, &param);
    ucx_turn_drop();
    if (UCS_PTR_IS_PTR(request))
        ucp_request_free(request);
    conn->ep = NULL;
    conn->cls->wake_due = true;
}

/* Ends a connection. Its memory goes when UCX has given everything back. */
static void
end(struct ucx_conn *conn)
{
    na_plugin_class *cls = conn->cls;
    struct ucx_peer *peer = conn->peer;
    bool quiet = conn->close_sent != UCX_CLOSE_NONE || conn->close_heard;
    const void *owner = peer != NULL ? (const void *) peer : conn->addr;

    if (conn->state == UCX_CONN_CALLED)
        cls->called--;
    if (conn->addr != NULL && conn->addr->call == conn)
        conn->addr->call = NULL;
    if (peer != NULL && conn->state == UCX_CONN_UP) {
        ucx_peer_remove(cls, peer, conn);
        tp_count(&cls->counters.conns, (uint64_t) -1);
        tp_count(quiet ? &cls->counters.retired : &cls->counters.losses, 1);
        if (conn->retiring && peer->main != NULL)
            ucx_send_move(conn, peer->main);
    }
    bool last = peer == NULL || peer->conns.head == NULL;
    ucx_conn_forget_token(conn);
    tp_list_remove(&cls->conns, &conn->link);
    tp_list_append(&cls->closed, &conn->link);
    conn->state = UCX_CONN_CLOSED;
    ucx_op_finish_all(&conn->queue, conn->error);
    ucx_fragment_abandon(conn, conn->error);
    if ((last || !quiet) && owner != NULL)
        ucx_recv_drop(cls, owner, conn->error);
    close_ep(conn);
    if (conn->addr != NULL)
        ucx_addr_release(cls, conn->addr);
    if (peer != NULL)
        ucx_peer_release(cls, peer);
    conn->addr = NULL;
    conn->peer = NULL;
}

static void
free_closed(na_plugin_class *cls)
{
    struct tp_link *next;

    for (struct tp_link *link = cls->closed.head; link != NULL; link = next) {
        struct ucx_conn *conn = ucx_conn_of(link);
        next = link->next;
        if (conn->txs.head != NULL || conn->flying.head != NULL ||
            conn->touched)
            continue;
        tp_list_remove(&cls->closed, link);
        ucx_key_forget_conn(conn);
        free(conn);
    }
}

static void
return_credits(struct ucx_conn *conn)
{
    union ucx_header header = {.head = {.token = conn->peer_token,
                                   .tag = (uint32_t) conn->credits,
                                   .kind = UCX_CREDIT}};

    if (!ucx_conn_credits_due(conn) || conn->failed)
        return;
    if (ucx_tx_post(conn, &header, sizeof(header.head), NULL, 0) ==
        NA_PLUGIN_OK)
        conn->credits = 0;
    else
        ucx_conn_touch(conn);
}

/* Whether nothing of ours is under way by this connection. */
static bool
drained(const struct ucx_conn *conn)
{
    return conn->txs.head == NULL && conn->queue.head == NULL &&
           conn->rma.head == NULL && conn->rma_sent.head == NULL &&
           conn->flying.head == NULL;
}

/* The last message by a connection that retires. */
static void
retire(struct ucx_conn *conn)
{
    uint8_t want = conn->close_heard ? UCX_CLOSE_ANSWERED : UCX_CLOSE_SAID;
    union ucx_header header = {.head = {.token = conn->peer_token,
                                   .tag = conn->close_heard,
                                   .kind = UCX_CLOSE}};

    if (conn->close_answered) {
        ucx_conn_fail(conn, NA_PLUGIN_E_HOSTUNREACH);
        return;
    }
    if (conn->close_sent >= want || !drained(conn))
        return;
    if (conn->close_sent == UCX_CLOSE_NONE)
        conn->deadline_ns = ucx_deadline(conn->cls, tp_now() + CLOSE_NS);
    conn->close_sent = want;
    ucx_turn_expect(conn);
    ucx_tx_post(conn, &header, sizeof(header.head), NULL, 0);
}

static void
work_on(struct ucx_conn *conn)
{
    if (conn->state != UCX_CONN_UP || conn->failed)
        return;
    struct ucx_conn *stays = conn->peer->main;
    if (conn->retiring && stays != NULL && stays != conn)
        ucx_send_move(conn, stays);
    return_credits(conn);
    ucx_send_drain(conn);
    ucx_fragment_push(conn);
    if (conn->retiring)
        retire(conn);
}

void
ucx_work(na_plugin_class *cls)
{
    struct tp_link *link;

    for (uint32_t i = 0; i < ROUNDS; i++) {
        while ((link = tp_list_pop(&cls->failed)) != NULL)
            end(TP_OBJECT(link, struct ucx_conn, failed_link));
        struct tp_list touched = cls->touched;
        if (touched.head == NULL)
            break;
        cls->touched = (struct tp_list){NULL, NULL};
        while ((link = tp_list_pop(&touched)) != NULL) {
            struct ucx_conn *conn =
                TP_OBJECT(link, struct ucx_conn, touched_link);
            conn->touched = false;
            work_on(conn);
        }
    }
    if (cls->closed.head != NULL)
        free_closed(cls);
}

/* The earliest deadline there is, UINT64_MAX if none. */
static uint64_t
first_deadline(const na_plugin_class *cls)
{
    uint64_t first =
        cls->marks_due != 0 ? cls->now_ns + UCX_EXPIRE_NS : UINT64_MAX;

    for (struct tp_link *link = cls->conns.head; link != NULL;
         link = link->next) {
        const struct ucx_conn *conn = ucx_conn_of(link);
        if (conn->deadline_ns != 0 && conn->deadline_ns < first)
            first = conn->deadline_ns;
        if (conn->unheard != 0 && conn->state == UCX_CONN_UP &&
            cls->look_ns < first)
            first = cls->look_ns;
        if (conn->queue.head != NULL &&
            ucx_op_of_link(conn->queue.head)->deadline_ns < first)
            first = ucx_op_of_link(conn->queue.head)->deadline_ns;
    }
    return first;
}

void
ucx_work_expire(na_plugin_class *cls)
{
    struct tp_link *next;

    if (cls->look_ns <= cls->now_ns)
        ucx_silence_look(cls);

    for (struct tp_link *link = cls->conns.head; link != NULL; link = next) {
        struct ucx_conn *conn = ucx_conn_of(link);
        next = link->next;
        ucx_send_expire(cls, conn);
        if (conn->deadline_ns <= cls->now_ns && !conn->failed)
            ucx_conn_expire(conn);
    }
    ucx_work(cls);
    cls->first_ns = first_deadline(cls);
}

static struct ucx_conn *
route_of(const na_plugin_addr *addr)
{
    struct ucx_conn *conn = addr->peer != NULL ? addr->peer->main : NULL;

    return conn != NULL ? conn : addr->call;
}

int32_t
ucx_work_make_route(
    na_plugin_class *cls, na_plugin_addr *addr, struct ucx_conn **conn_p)
{
    struct ucx_conn *conn = route_of(addr);

    if (__builtin_expect(conn != NULL && conn->failed, 0)) {
        /* its end, and what depends on it, before the successor's beginning */
        ucx_work(cls);
        conn = route_of(addr);
    }
    if (conn == NULL)
        return ucx_connect(cls, addr, conn_p);
    *conn_p = conn;
    return NA_PLUGIN_OK;
}

void
ucx_addr_forget(na_plugin_class *cls, na_plugin_addr *addr)
{
    tp_mutex_take(&cls->lock);
    ucx_recv_drop(cls, addr, NA_PLUGIN_E_HOSTUNREACH);
    if (addr->peer != NULL) {
        ucx_recv_drop(cls, addr->peer, NA_PLUGIN_E_HOSTUNREACH);
        ucx_peer_fail(addr->peer, NA_PLUGIN_E_HOSTUNREACH);
    }
    if (addr->call != NULL)
        ucx_conn_fail(addr->call, NA_PLUGIN_E_HOSTUNREACH);
    ucx_work(cls);
    ucx_wait_settle(cls);
    tp_mutex_drop(&cls->lock);
}
