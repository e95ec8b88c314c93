/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections. UCX's callbacks only mark what has failed or has to be looked at;
 * endpoints are closed when UCX has returned. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "conn.h"
#include "context.h"
#include "descriptor.h"
#include "foreign.h"
#include "hello.h"
#include "key.h"
#include "match.h"
#include "parcel.h"
#include "peer.h"
#include "piece.h"
#include "send.h"
#include "where.h"

#define SLOTS_FIRST 16U /* a power of two, as all that follow */
#define SLOTS_MOST (1U << 25)
#define HELLO_NS UINT64_C(30000000000) /* for a caller, of many, to say it */
#define BYE_NS UINT64_C(5000000000)    /* for a peer to answer it */
#define CALLED_MOST 4096U              /* callers without a hello */

int32_t
ucx_conn_code(ucs_status_t status)
{
    switch (status) {
    case UCS_OK:
        return NA_PLUGIN_OK;
    case UCS_ERR_NO_MEMORY:
        return NA_PLUGIN_E_NOMEM;
    case UCS_ERR_MESSAGE_TRUNCATED:
    case UCS_ERR_EXCEEDS_LIMIT:
        return NA_PLUGIN_E_MSGSIZE;
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_REJECTED:
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_TIMED_OUT:
    case UCS_ERR_CANCELED:
        return NA_PLUGIN_E_HOSTUNREACH;
    default:
        return NA_PLUGIN_E_IO_ERROR;
    }
}

static struct ucx_conn **
slot_of(const na_plugin_class *cls, uint64_t token)
{
    return &cls->slots[token & (cls->slots_room - 1)];
}

/* Makes the table twice as large. Tokens that differ in their low bits differ in
 * more of them too. */
static bool
grow_slots(na_plugin_class *cls)
{
    uint32_t old_room = cls->slots_room;
    struct ucx_conn **old = cls->slots;
    uint32_t room = old_room == 0 ? SLOTS_FIRST : 2 * old_room;
    struct ucx_conn **slots =
        room <= SLOTS_MOST ? calloc(room, sizeof(struct ucx_conn *)) : NULL;

    if (slots == NULL)
        return false;
    cls->slots = slots;
    cls->slots_room = room;
    for (uint32_t i = 0; i < old_room; i++)
        if (old[i] != NULL)
            *slot_of(cls, old[i]->token) = old[i];
    free(old);
    return true;
}

/* Gives a connection its token. All of it is random: its low bits choose a place
 * in the table, at least half of which is free. */
static bool
take_slot(na_plugin_class *cls, struct ucx_conn *conn)
{
    if (cls->slots_used >= cls->slots_room / 2 && !grow_slots(cls))
        return false;
    do {
        if (!ucx_random_draw(&cls->random, &conn->token))
            return false;
    } while (*slot_of(cls, conn->token) != NULL);
    *slot_of(cls, conn->token) = conn;
    cls->slots_used++;
    return true;
}

static void
give_slot_back(const struct ucx_conn *conn)
{
    *slot_of(conn->cls, conn->token) = NULL;
    conn->cls->slots_used--;
}

struct ucx_conn *
ucx_conn_find(const na_plugin_class *cls, uint64_t token)
{
    struct ucx_conn *conn = cls->slots_room != 0 ? *slot_of(cls, token) : NULL;

    return conn != NULL && conn->token == token ? conn : NULL;
}

struct ucx_conn *
ucx_conn_find_called(const na_plugin_class *cls, ucp_ep_h ep)
{
    for (struct ucx_link *link = cls->conns.tail; link != NULL && ep != NULL;
         link = link->prev) {
        struct ucx_conn *conn = (struct ucx_conn *) link;
        if (conn->ep == ep && conn->state == UCX_CONN_CALLED)
            return conn;
    }
    return NULL;
}

void
ucx_conn_touch(struct ucx_conn *conn)
{
    na_plugin_class *cls = conn->cls;

    if (conn->dirty)
        return;
    conn->dirty = true;
    conn->next_dirty = cls->dirty;
    cls->dirty = conn;
    cls->stirred = true;
}

void
ucx_conn_fail(struct ucx_conn *conn, int32_t error)
{
    na_plugin_class *cls = conn->cls;

    if (conn->failed || conn->state == UCX_CONN_CLOSED)
        return;
    conn->failed = true;
    conn->error = error;
    conn->next_failed = cls->failed;
    cls->failed = conn;
    cls->stirred = true;
}

void
ucx_conn_lost(struct ucx_conn *conn, ucs_status_t status)
{
    const char *why = ucs_status_string(status);

    if (!conn->failed && conn->state == UCX_CONN_CALLING &&
        status == UCS_ERR_NOT_CONNECTED)
        ucx_foreign_say_nobody(conn, why);
    else if (!conn->failed && conn->state != UCX_CONN_CLOSED)
        ucx_foreign_say(conn, why);
    ucx_conn_fail(conn, ucx_conn_code(status));
}

void
ucx_conn_break(struct ucx_conn *conn, const char *why)
{
    na_plugin_class *cls = conn->cls;

    ucx_count(&cls->counters.malformed, 1);
    if (conn->failed)
        return;
    ucx_count(&cls->counters.broken, 1);
    UCX_LOG(
        cls->host, WARNING, "%s breaks the protocol: %s", conn->peer_name, why);
    ucx_conn_fail(conn, NA_PLUGIN_E_PROTOCOL_ERROR);
}

void
ucx_conn_mark(na_plugin_class *cls, bool again)
{
    if (!ucx_descriptor_mark_some() || again) {
        cls->marks_due = 2;
        ucx_deadline(cls, ucx_now() + UCX_EXPIRE_NS);
    }
}

static void
on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    ucx_conn_lost(arg, status);
}

static struct ucx_conn *
make(na_plugin_class *cls, enum ucx_conn_state state, const char *name)
{
    struct ucx_conn *conn = calloc(1, sizeof(*conn));
    if (conn == NULL)
        return NULL;
    conn->cls = cls;
    conn->state = (uint8_t) state;
    snprintf(conn->peer_name, sizeof(conn->peer_name), "%s", name);
    if (!take_slot(cls, conn)) {
        free(conn);
        return NULL;
    }
    ucx_list_append(&cls->conns, &conn->link);
    return conn;
}

/* Takes a connection back for which there is no endpoint. */
static void
unmake(struct ucx_conn *conn)
{
    na_plugin_class *cls = conn->cls;

    give_slot_back(conn);
    ucx_list_remove(&cls->conns, &conn->link);
    free(conn);
}

static ucs_status_t
make_ep(struct ucx_conn *conn, ucp_ep_params_t *params)
{
    params->field_mask |=
        UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params->err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params->err_handler.cb = on_error;
    params->err_handler.arg = conn;
    conn->cls->stirred = true;
    return ucp_ep_create(conn->cls->worker, params, &conn->ep);
}

int32_t
ucx_conn_call(
    na_plugin_class *cls, na_plugin_addr *addr, struct ucx_conn **conn_p)
{
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR,
        .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER,
        .sockaddr = {.addr = (struct sockaddr *) &addr->where,
            .addrlen = addr->where_length}};
    if (addr->where.ss_family != cls->family) {
        UCX_LOG(cls->host, WARNING,
            "%s is not called: this class was opened for IPv%d", addr->name,
            cls->family == AF_INET6 ? 6 : 4);
        return NA_PLUGIN_E_HOSTUNREACH;
    }
    if (cls->loopback && !ucx_where_loopback(&addr->where)) {
        UCX_LOG(cls->host, WARNING,
            "%s is not called: this class was opened at a loopback address",
            addr->name);
        return NA_PLUGIN_E_HOSTUNREACH;
    }
    struct ucx_conn *conn = make(cls, UCX_CONN_CALLING, addr->name);
    if (conn == NULL)
        return NA_PLUGIN_E_NOMEM;
    conn->ours = true;
    conn->serial = ++cls->serial;
    conn->deadline_ns = ucx_deadline(cls, ucx_now() + cls->connect_ns);
    ucs_status_t status = make_ep(conn, &params);
    if (status != UCS_OK) {
        UCX_LOG(cls->host, WARNING, "calling %s: %s", addr->name,
            ucs_status_string(status));
        unmake(conn);
        return ucx_conn_code(status);
    }
    ucx_addr_hold(addr);
    conn->addr = addr;
    addr->call = conn;
    ucx_descriptor_own_port(ucx_where_port(&addr->where));
    ucx_conn_mark(cls, false);
    if (ucx_hello_send(conn, NA_PLUGIN_OK) != NA_PLUGIN_OK)
        ucx_conn_fail(conn, NA_PLUGIN_E_NOMEM);
    *conn_p = conn;
    return NA_PLUGIN_OK;
}

void
ucx_conn_on_request(ucp_conn_request_h request, void *arg)
{
    na_plugin_class *cls = arg;
    ucp_conn_request_attr_t attr = {
        .field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR};
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST, .conn_request = request};
    char name[UCX_NAME_MAX + 1] = "a caller";

    if (ucp_conn_request_query(request, &attr) == UCS_OK)
        ucx_where_text(&attr.client_address, name, sizeof(name));
    struct ucx_conn *conn =
        cls->called < CALLED_MOST ? make(cls, UCX_CONN_CALLED, name) : NULL;
    if (conn == NULL) {
        UCX_LOG(cls->host, WARNING,
            "%s is turned away: %u callers have not said who they are", name,
            (unsigned) cls->called);
        ucp_listener_reject(cls->listener, request);
        return;
    }
    conn->client = attr.client_address;
    conn->deadline_ns = ucx_deadline(cls, ucx_now() + HELLO_NS);
    ucs_status_t status = make_ep(conn, &params);
    if (status != UCS_OK) {
        UCX_LOG(cls->host, WARNING, "answering %s: %s", name,
            ucs_status_string(status));
        unmake(conn);
        return;
    }
    cls->called++;
    ucx_conn_mark(cls, false);
}

void
ucx_conn_up(struct ucx_conn *conn)
{
    na_plugin_class *cls = conn->cls;

    if (conn->state == UCX_CONN_CALLED)
        cls->called--;
    if (conn->addr->call == conn)
        conn->addr->call = NULL;
    conn->state = UCX_CONN_UP;
    conn->deadline_ns = UINT64_MAX;
    ucx_count(&cls->counters.connects, 1);
    ucx_count(&cls->counters.conns, 1);
    ucx_peer_add(conn->peer, conn);
    ucx_peer_choose(cls, conn->peer);
    ucx_conn_touch(conn);
    /* UCX goes on opening things when a connection is up */
    ucx_conn_mark(cls, true);
}

void
ucx_conn_owe(struct ucx_conn *conn, uint64_t bytes)
{
    conn->owed += bytes;
    if (conn->owed >= conn->cls->window / 2)
        ucx_conn_touch(conn);
}

void
ucx_conn_bye(struct ucx_conn *conn, bool answered)
{
    conn->bye_heard = true;
    if (answered)
        conn->bye_answered = true;
    conn->retiring = true;
    ucx_peer_choose(conn->cls, conn->peer);
    ucx_conn_touch(conn);
}

static void
finish_list(struct ucx_list *list, int32_t error)
{
    struct ucx_link *link;

    while ((link = ucx_list_pop(list)) != NULL)
        ucx_ctx_finish((struct ucx_op *) link, error);
}

/* Closes the endpoint without asking the peer. */
static void
close_ep(struct ucx_conn *conn)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_EP_CLOSE_FLAG_FORCE};

    if (conn->flying.head == NULL)
        ucx_key_forget_conn(conn);
    void *request = ucp_ep_close_nbx(conn->ep, &param);
    if (UCS_PTR_IS_PTR(request))
        ucp_request_free(request);
    conn->ep = NULL;
    conn->cls->stirred = true;
}

/* What waits for this connection, and receives from its peer if that is lost. */
static void
finish_all(struct ucx_conn *conn, bool lost)
{
    na_plugin_class *cls = conn->cls;
    int32_t error = conn->error;
    const void *whose =
        conn->peer != NULL ? (const void *) conn->peer : conn->addr;

    finish_list(&conn->queue, error);
    ucx_piece_abandon(conn, error);
    for (uint32_t i = 0; lost && whose != NULL && i < UCX_CONTEXTS; i++)
        if (cls->contexts[i] != NULL)
            ucx_match_drop(cls->contexts[i], whose, error);
}

/* Ends a connection. Its memory goes when UCX has given everything back. */
static void
end(struct ucx_conn *conn)
{
    na_plugin_class *cls = conn->cls;
    struct ucx_peer *peer = conn->peer;
    bool quiet = conn->bye_sent != UCX_BYE_NONE || conn->bye_heard;

    if (conn->state == UCX_CONN_CALLED)
        cls->called--;
    if (conn->addr != NULL && conn->addr->call == conn)
        conn->addr->call = NULL;
    if (conn->state == UCX_CONN_UP) {
        ucx_peer_remove(cls, peer, conn);
        ucx_count(&cls->counters.conns, (uint64_t) -1);
        ucx_count(quiet ? &cls->counters.retired : &cls->counters.losses, 1);
    }
    bool last = peer == NULL || peer->conns.head == NULL;
    give_slot_back(conn);
    ucx_list_remove(&cls->conns, &conn->link);
    ucx_list_append(&cls->closed, &conn->link);
    conn->state = UCX_CONN_CLOSED;
    finish_all(conn, last || !quiet);
    close_ep(conn);
    if (conn->addr != NULL)
        ucx_addr_release(cls, conn->addr);
    if (peer != NULL)
        ucx_peer_release(cls, peer);
    conn->addr = NULL;
    conn->peer = NULL;
}

static void
end_failed(na_plugin_class *cls)
{
    struct ucx_conn *conn;

    while ((conn = cls->failed) != NULL) {
        cls->failed = conn->next_failed;
        end(conn);
    }
}

static void
free_closed(na_plugin_class *cls)
{
    struct ucx_link *next;

    for (struct ucx_link *link = cls->closed.head; link != NULL; link = next) {
        struct ucx_conn *conn = (struct ucx_conn *) link;
        next = link->next;
        if (conn->parcels.head != NULL || conn->flying.head != NULL ||
            conn->dirty)
            continue;
        ucx_list_remove(&cls->closed, link);
        ucx_key_forget_conn(conn);
        free(conn);
    }
}

/* Gives the peer room back. */
static void
repay(struct ucx_conn *conn)
{
    union ucx_header header = {
        .head = {.token = conn->peer_token, .kind = UCX_CREDIT}};

    if (conn->owed < conn->cls->window / 2 || conn->failed)
        return;
    header.head.tag = (uint32_t) conn->owed;
    if (ucx_parcel_post(conn, &header, sizeof(header.head), NULL, 0) ==
        NA_PLUGIN_OK)
        conn->owed = 0;
    else
        ucx_conn_touch(conn);
}

/* Whether nothing of ours is under way by this connection. */
static bool
drained(const struct ucx_conn *conn)
{
    return conn->parcels.head == NULL && conn->queue.head == NULL &&
           conn->rma.head == NULL && conn->rma_sent.head == NULL &&
           conn->flying.head == NULL;
}

/* The last message by a connection that retires. */
static void
say_bye(struct ucx_conn *conn)
{
    uint8_t want = conn->bye_heard ? UCX_BYE_ANSWERED : UCX_BYE_SAID;
    union ucx_header header = {.head = {.token = conn->peer_token,
                                   .tag = conn->bye_heard,
                                   .kind = UCX_BYE}};

    if (conn->bye_answered) {
        ucx_conn_fail(conn, NA_PLUGIN_E_HOSTUNREACH);
        return;
    }
    if (conn->bye_sent >= want || !drained(conn))
        return;
    if (conn->bye_sent == UCX_BYE_NONE)
        conn->deadline_ns = ucx_deadline(conn->cls, ucx_now() + BYE_NS);
    conn->bye_sent = want;
    ucx_parcel_post(conn, &header, sizeof(header.head), NULL, 0);
}

static void
look_at_dirty(na_plugin_class *cls)
{
    struct ucx_conn *list = cls->dirty;

    cls->dirty = NULL;
    while (list != NULL) {
        struct ucx_conn *conn = list;
        list = conn->next_dirty;
        conn->dirty = false;
        if (conn->state != UCX_CONN_UP || conn->failed)
            continue;
        repay(conn);
        ucx_send_drain(conn);
        ucx_piece_push(conn);
        if (conn->retiring)
            say_bye(conn);
    }
}

void
ucx_conn_work(na_plugin_class *cls)
{
    for (uint32_t round = 0; round < 4; round++) {
        if (cls->failed != NULL)
            end_failed(cls);
        if (cls->dirty == NULL)
            break;
        look_at_dirty(cls);
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

    for (struct ucx_link *link = cls->conns.head; link != NULL;
         link = link->next) {
        const struct ucx_conn *conn = (const struct ucx_conn *) link;
        if (conn->deadline_ns != 0 && conn->deadline_ns < first)
            first = conn->deadline_ns;
        const struct ucx_op *op = (const struct ucx_op *) conn->queue.head;
        if (op != NULL && op->deadline_ns < first)
            first = op->deadline_ns;
    }
    return first;
}

void
ucx_conn_expire(na_plugin_class *cls)
{
    struct ucx_link *next;

    for (struct ucx_link *link = cls->conns.head; link != NULL; link = next) {
        struct ucx_conn *conn = (struct ucx_conn *) link;
        next = link->next;
        ucx_send_expire(cls, conn);
        if (conn->deadline_ns > cls->now_ns || conn->failed)
            continue;
        if (conn->state != UCX_CONN_UP)
            ucx_foreign_say(conn, "it is silent for too long");
        ucx_conn_fail(conn, NA_PLUGIN_E_HOSTUNREACH);
    }
    ucx_conn_work(cls);
    cls->first_ns = first_deadline(cls);
}

void
ucx_conn_forget(na_plugin_class *cls, na_plugin_addr *addr)
{
    struct ucx_peer *peer = addr->peer;

    for (uint32_t i = 0; i < UCX_CONTEXTS; i++) {
        if (cls->contexts[i] == NULL)
            continue;
        ucx_match_drop(cls->contexts[i], addr, NA_PLUGIN_E_HOSTUNREACH);
        if (peer != NULL)
            ucx_match_drop(cls->contexts[i], peer, NA_PLUGIN_E_HOSTUNREACH);
    }
    if (addr->call != NULL)
        ucx_conn_fail(addr->call, NA_PLUGIN_E_HOSTUNREACH);
    if (peer != NULL)
        for (struct ucx_link *link = peer->conns.head; link != NULL;
             link = link->next)
            ucx_conn_fail(ucx_conn_of_link(link), NA_PLUGIN_E_HOSTUNREACH);
    ucx_conn_work(cls);
}
