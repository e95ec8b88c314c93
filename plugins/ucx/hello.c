/* SPDX-License-Identifier: BSD-3-Clause */
/* Hellos: checked, and what follows from them. A name that a caller gives
 * is believed if it is of the host that calls. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "common/host.h"
#include "connect.h"
#include "hello.h"
#include "recv.h"

/* What is wrong with a hello, NULL if nothing is. */
static const char *
fault_of(const na_plugin_class *cls, const struct ucx_hello *hello)
{
    if (hello->status != 0)
        return hello->status == NA_PLUGIN_E_ADDRINUSE
                   ? "it is this class itself, which has an address for that"
                   : "it speaks another version";
    if (hello->version != UCX_HELLO_VERSION)
        return "it speaks another version";
    if (hello->number == cls->number)
        return "it is this class itself, which has an address for that";
    if (hello->number == 0 || hello->token == 0 || hello->window < 256 ||
        memchr(hello->name, '\0', sizeof(hello->name)) == NULL)
        return "its hello is malformed";
    for (const char *c = hello->name; *c; c++)
        if (*c <= ' ' || *c > '~')
            return "its name is malformed";
    return NULL;
}

/* A listening caller's address: known by its name if that can be believed, so
 * that a lookup finds it; else one of its own. NULL: no memory. */
static na_plugin_addr *
listener_addr(struct ucx_conn *conn, const char *name)
{
    na_plugin_class *cls = conn->cls;
    const char *rest = strstr(name, "://");
    char own[UCX_NAME_MAX + 1];
    struct tp_place where;

    if (rest == NULL || tp_host_parse(cls->host, rest + 3, strlen(rest + 3),
                            AF_UNSPEC, false, &where) != NA_PLUGIN_OK)
        return ucx_addr_make(cls, "");
    int n = snprintf(own, sizeof(own), "%s://%s", cls->protocol, rest + 3);
    if (n < 0 || (size_t) n >= sizeof(own))
        return ucx_addr_make(cls, "");
    if (strcmp(own, cls->self->name) != 0 &&
        tp_host_same(&conn->client, &where.address))
        return ucx_addr_get(cls, own, &where.address, where.length);
    na_plugin_addr *addr = ucx_addr_make(cls, own);
    if (addr != NULL) {
        addr->where = where.address;
        addr->where_length = where.length;
    }
    return addr;
}

/* The address by which a caller is reported. NULL: no memory. */
static na_plugin_addr *
caller_addr(struct ucx_conn *conn, const char *name)
{
    struct ucx_peer *peer = conn->peer;
    na_plugin_addr *addr = peer->addr;

    if (addr != NULL) {
        ucx_addr_hold(addr);
        return addr;
    }
    addr = name[0] != '\0' ? listener_addr(conn, name)
                           : ucx_addr_make(conn->cls, "");
    if (addr == NULL)
        return NULL;
    /* who was at that name before can't be there any longer */
    if (addr->peer != NULL)
        ucx_peer_fail(addr->peer, NA_PLUGIN_E_HOSTUNREACH);
    return addr;
}

/* Takes a sound hello. NOMEM. */
static int32_t
believe(struct ucx_conn *conn, const struct ucx_hello *hello)
{
    na_plugin_class *cls = conn->cls;

    conn->peer = ucx_peer_get(cls, hello->number);
    if (conn->peer == NULL)
        return NA_PLUGIN_E_NOMEM;
    conn->peer->process = hello->process;
    conn->peer_token = hello->token;
    conn->window = hello->window;
    if (!conn->ours) {
        conn->serial = hello->serial;
        conn->addr = caller_addr(conn, hello->name);
        if (conn->addr == NULL)
            return NA_PLUGIN_E_NOMEM;
        if (hello->name[0] != '\0')
            snprintf(
                conn->peer_name, sizeof(conn->peer_name), "%s", hello->name);
    }
    ucx_peer_join(cls, conn->addr, conn->peer);
    ucx_recv_rename(cls, conn->addr, conn->peer);
    if (!conn->ours && ucx_connect_hello(conn, NA_PLUGIN_OK) != NA_PLUGIN_OK)
        return NA_PLUGIN_E_NOMEM;
    ucx_connect_up(conn);
    return NA_PLUGIN_OK;
}

/* Tells a caller why not, and lets it hang up. */
static void
refuse(struct ucx_conn *conn, const struct ucx_hello *hello, const char *why)
{
    na_plugin_class *cls = conn->cls;

    if (!conn->ours && hello->version == UCX_HELLO_VERSION &&
        hello->number != cls->number) {
        ucx_conn_break(conn, why);
        return;
    }
    if (!conn->ours && (conn->peer_token != 0 || hello->token == 0)) {
        ucx_conn_break(conn, "it does not take a refusal");
        return;
    }
    TP_LOG_THINNED(cls->host, WARNING, tp_count(&cls->counters.malformed, 1),
        "%s: connection refused: %s", conn->peer_name, why);
    if (conn->ours) {
        ucx_conn_fail(conn, hello->number == cls->number
                                ? NA_PLUGIN_E_ADDRNOTAVAIL
                                : NA_PLUGIN_E_PROTOCOL_ERROR);
        return;
    }
    /* it hangs up when it has heard; if not, its time is over soon */
    conn->peer_token = hello->token;
    if (ucx_connect_hello(conn, hello->number == cls->number
                                    ? NA_PLUGIN_E_ADDRINUSE
                                    : NA_PLUGIN_E_PROTOCOL_ERROR) !=
        NA_PLUGIN_OK)
        ucx_conn_fail(conn, NA_PLUGIN_E_NOMEM);
}

void
ucx_hello_take(na_plugin_class *cls, const struct ucx_head *head,
    ucp_ep_h reply_ep, const void *data, size_t length)
{
    struct ucx_conn *conn = head->token == 0
                                ? ucx_conn_find_called(cls, reply_ep)
                                : ucx_conn_find(cls, head->token);
    struct ucx_hello hello;

    if (conn == NULL || conn->failed) {
        tp_count(&cls->counters.strayed, 1);
        return;
    }
    if (conn->state == UCX_CONN_UP || conn->ours != (head->token != 0) ||
        length < sizeof(hello)) {
        ucx_conn_break(conn, "a hello out of place");
        return;
    }
    memcpy(&hello, data, sizeof(hello));
    if (hello.magic != UCX_HELLO_MAGIC || hello.bytes < sizeof(hello)) {
        ucx_conn_break(conn, "no hello");
        return;
    }
    const char *fault = fault_of(cls, &hello);
    if (fault != NULL) {
        refuse(conn, &hello, fault);
        return;
    }
    if (believe(conn, &hello) != NA_PLUGIN_OK)
        ucx_conn_fail(conn, NA_PLUGIN_E_NOMEM);
}
