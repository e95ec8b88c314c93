/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls, and callers. UCX's callbacks only report; endpoints are closed when UCX
 * has returned. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "common/host.h"
#include "connect.h"
#include "descriptor.h"
#include "process.h"
#include "turn.h"
#include "tx.h"

#define HELLO_NS UINT64_C(30000000000) /* for a caller, of many, to say it */
#define CALLED_MOST 4096U              /* callers without a hello */

static void
on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    struct ucx_conn *conn = arg;

    ucx_turn_expect(conn);
    ucx_conn_lost(conn, status);
}

/* Makes the endpoint of a connection, which is gone if that fails. */
static ucs_status_t
make_ep(struct ucx_conn *conn, ucp_ep_params_t *params, const char *what)
{
    na_plugin_class *cls = conn->cls;

    params->field_mask |=
        UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params->err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params->err_handler.cb = on_error;
    params->err_handler.arg = conn;
    cls->wake_due = true;
    ucx_turn_take();
    ucs_status_t status = ucp_ep_create(cls->worker, params, &conn->ep);
    ucx_turn_drop();
    if (status != UCS_OK) {
        TP_LOG(cls->host, WARNING, "%s: cannot %s: %s", conn->peer_name, what,
            ucs_status_string(status));
        ucx_conn_forget_token(conn);
        tp_list_remove(&cls->conns, &conn->link);
        ucx_turn_end(conn);
        free(conn);
    }
    return status;
}

/* Whether an address is one that this class may call; logged if not. */
static bool
may_call(const na_plugin_class *cls, const na_plugin_addr *addr)
{
    if (addr->where_length == 0) {
        TP_LOG(cls->host, INFO,
            "cannot connect: the peer does not listen, and its connection has "
            "ended");
        return false;
    }
    if (addr->where.ss_family != cls->family) {
        TP_LOG(cls->host, WARNING,
            "%s: cannot connect: this class was opened for IPv%d", addr->name,
            cls->family == AF_INET6 ? 6 : 4);
        return false;
    }
    if (cls->loopback && !tp_host_is_loopback(&addr->where)) {
        TP_LOG(cls->host, WARNING,
            "%s: cannot connect: this class was opened at a loopback address",
            addr->name);
        return false;
    }
    return true;
}

int32_t
ucx_connect(
    na_plugin_class *cls, na_plugin_addr *addr, struct ucx_conn **conn_p)
{
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR,
        .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER,
        .sockaddr = {.addr = (struct sockaddr *) &addr->where,
            .addrlen = addr->where_length}};

    if (!may_call(cls, addr))
        return NA_PLUGIN_E_HOSTUNREACH;
    struct ucx_conn *conn = ucx_conn_new(cls, UCX_CONN_CALLING, addr->name);
    if (conn == NULL)
        return NA_PLUGIN_E_NOMEM;
    conn->ours = true;
    conn->serial = ++cls->serial;
    conn->deadline_ns = ucx_deadline(cls, tp_now() + cls->connect_ns);
    ucs_status_t status = make_ep(conn, &params, "connect");
    if (status != UCS_OK)
        return ucx_conn_code(status);
    ucx_addr_hold(addr);
    conn->addr = addr;
    conn->client = addr->where;
    conn->client_length = addr->where_length;
    conn->first = !addr->known;
    conn->told = addr->told;
    addr->told = true;
    addr->call = conn;
    ucx_descriptor_own_port(tp_host_port(&addr->where));
    ucx_conn_mark(cls, false);
    if (ucx_connect_hello(conn, NA_PLUGIN_OK) != NA_PLUGIN_OK)
        ucx_conn_fail(conn, NA_PLUGIN_E_NOMEM);
    *conn_p = conn;
    return NA_PLUGIN_OK;
}

static void
reject(na_plugin_class *cls, ucp_conn_request_h request)
{
    ucx_turn_want(cls);
    ucx_turn_take();
    ucp_listener_reject(cls->listener, request);
    ucx_turn_drop();
}

void
ucx_connect_on_request(ucp_conn_request_h request, void *arg)
{
    na_plugin_class *cls = arg;
    ucp_conn_request_attr_t attr = {
        .field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR};
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST, .conn_request = request};
    char name[UCX_NAME_MAX + 1] = "a caller";

    if (cls->closing) {
        reject(cls, request);
        return;
    }
    if (ucp_conn_request_query(request, &attr) == UCS_OK)
        tp_host_text(&attr.client_address, name, sizeof(name));
    struct ucx_conn *conn = cls->called < CALLED_MOST
                                ? ucx_conn_new(cls, UCX_CONN_CALLED, name)
                                : NULL;
    if (conn == NULL) {
        TP_LOG_THINNED(cls->host, WARNING, cls->refused++,
            "%s: connection refused: %u others without a hello", name,
            (unsigned) cls->called);
        reject(cls, request);
        return;
    }
    conn->client = attr.client_address;
    conn->deadline_ns = ucx_deadline(cls, tp_now() + HELLO_NS);
    if (make_ep(conn, &params, "accept its connection") != UCS_OK)
        return;
    cls->called++;
    ucx_conn_mark(cls, false);
}

int32_t
ucx_connect_hello(struct ucx_conn *conn, int32_t status)
{
    na_plugin_class *cls = conn->cls;
    struct ucx_tx *tx = ucx_tx_make(cls, sizeof(struct ucx_hello));

    if (tx == NULL)
        return NA_PLUGIN_E_NOMEM;
    struct ucx_hello hello = {.magic = UCX_HELLO_MAGIC,
        .version = UCX_HELLO_VERSION,
        .bytes = sizeof(hello),
        .number = cls->number,
        .token = conn->token.key,
        .serial = conn->serial,
        .process = ucx_process_number(),
        .window = (uint32_t) cls->window,
        .status = status};
    if (cls->listens)
        snprintf(hello.name, sizeof(hello.name), "%s", cls->self->name);
    tx->header = (union ucx_header){
        .head = {.token = conn->peer_token, .kind = UCX_HELLO}};
    memcpy(tx->data, &hello, sizeof(hello));
    ucx_tx_send(conn, tx, sizeof(tx->header.head),
        conn->ours ? UCP_AM_SEND_FLAG_REPLY : 0);
    return NA_PLUGIN_OK;
}

void
ucx_connect_up(struct ucx_conn *conn)
{
    na_plugin_class *cls = conn->cls;

    if (conn->state == UCX_CONN_CALLED)
        cls->called--;
    if (conn->addr->call == conn)
        conn->addr->call = NULL;
    conn->addr->told = false;
    conn->addr->known = true;
    conn->state = UCX_CONN_UP;
    conn->deadline_ns = UINT64_MAX;
    tp_count(&cls->counters.connects, 1);
    tp_count(&cls->counters.conns, 1);
    ucx_peer_add(conn->peer, conn);
    ucx_peer_choose(conn->peer);
    ucx_conn_touch(conn);
    /* UCX goes on opening things when a connection is up */
    ucx_conn_mark(cls, true);
}
